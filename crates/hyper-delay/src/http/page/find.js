// One task by its id.
const find = (() => {
  const STATES = { waiting: 'waiting', parked: 'due, waits for a consumer', in_flight: 'in flight', dead: 'dead' };

  const text = (base64) => {
    const raw = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(raw);
    } catch {
      return null;
    }
  };

  const payload = (task) => {
    if (task.payload_base64 === undefined) {
      return task.payload_bytes === undefined ? 'not readable' : `${bytes(task.payload_bytes)}, too long to show here`;
    }
    if (!task.payload_base64) return 'empty';
    const decoded = task.compression === 'none' ? text(task.payload_base64) : null;
    return make('pre', { tabindex: 0 }, decoded ?? task.payload_base64);
  };

  const describe = (task) => {
    const rows = [['Route', task.route_key], ['Id', task.id], ['State', STATES[task.state] ?? task.state],
      ['Scheduled for', when(task.fire_at)]];
    if (task.due !== undefined && task.due !== task.fire_at) rows.push(['Next round', when(task.due)]);
    if (task.died_at) rows.push(['Died', when(task.died_at)]);
    if (task.reason) rows.push(['Reason', task.reason]);
    rows.push(['Rounds so far', count(task.attempt)]);
    for (const [name, value] of Object.entries(task.headers ?? {})) rows.push([`Header ${name}`, value]);
    if (task.expires_at) rows.push(['Expires', when(task.expires_at)]);
    if (task.compression && task.compression !== 'none') rows.push(['Compression', task.compression]);
    rows.push(['Payload', payload(task)]);
    return make('dl', { class: 'task' }, ...rows.flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]));
  };

  const one = (route, id) => server.get(`/v1/tasks/${server.part(route)}/${server.part(id)}?payload=true`);

  const search = async (id) => {
    const { tasks: found, more } = await server.get(`/v1/search${server.query({ id })}`);
    const rest = more ? ' There are more routes: give the route.' : '';
    if (!found.length) return [make('p', { class: 'none' }, `No route has a task with this id.${rest}`)];
    const shown = await Promise.all(found.slice(0, 5).map((task) => one(task.route_key, id).catch(() => task)));
    const note = found.length > 5 || more ? [make('p', { class: 'note' }, `${tasks(found.length)} with this id.${rest}`)] : [];
    return [...shown.map(describe), ...note];
  };

  at('find').addEventListener('submit', async (event) => {
    event.preventDefault();
    const [id, route] = [at('find-id').value, at('find-route').value];
    const found = at('found');
    try {
      found.replaceChildren(...(route ? [describe(await one(route, id))] : await search(id)));
    } catch (error) {
      const missing = error.code === 'not_found' ? 'This route has no task with this id.' : error.message;
      found.replaceChildren(make('p', { class: 'none' }, missing));
    }
  });

  return { describe, one };
})();
