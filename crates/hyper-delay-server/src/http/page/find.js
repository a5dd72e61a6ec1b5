// Tasks by their id.
const find = (() => {
  const STATES = { waiting: 'waiting', parked: 'due, waiting for a consumer', in_flight: 'in flight', dead: 'dead' };

  const text = (base64) => {
    const raw = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(raw);
    } catch {
      return null;
    }
  };

  const payload = (task) => {
    if (!server.seesPayloads()) return 'not shown: the token has neither consume nor admin';
    if (task.payload_base64 === undefined) {
      return task.payload_bytes === undefined ? 'cannot be read' : `${bytes(task.payload_bytes)}, too long to show`;
    }
    if (!task.payload_base64) return 'empty';
    const decoded = task.compression === 'none' ? text(task.payload_base64) : null;
    return make('pre', { tabindex: 0 }, decoded ?? task.payload_base64);
  };

  // 0 is the usual way to schedule a task for now.
  const planned = (millis) => (millis ? when(millis) : 'at once');

  const KINDS = { nack: 'given back', ack_timeout: 'ack timeout', connection_lost: 'connection lost', target: 'could not be delivered' };
  const failure = ({ at, kind, reason }) => `${when(at)}, ${KINDS[kind] ?? kind}${reason ? `: ${reason}` : ''}`;

  const describe = (task) => {
    const rows = [['Route', task.route_key], ['Id', task.id], ['State', STATES[task.state] ?? task.state],
      ['Scheduled for', planned(task.fire_at)]];
    if (task.due !== undefined && task.due !== task.fire_at) rows.push(['Next round', when(task.due)]);
    if (task.died_at) rows.push(['Died', when(task.died_at)]);
    if (task.reason) rows.push(['Reason', task.reason]);
    if (task.last_failure) rows.push(['Last failure', failure(task.last_failure)]);
    rows.push(['Rounds so far', count(task.attempt)]);
    for (const [name, value] of Object.entries(task.headers ?? {})) rows.push([`Header ${name}`, value]);
    if (task.expires_at) rows.push(['Expires', when(task.expires_at)]);
    if (task.ack_timeout_ms) rows.push(['Ack timeout', duration(task.ack_timeout_ms)]);
    if (task.max_attempts) rows.push(['Most failed rounds', count(task.max_attempts)]);
    if (task.retry_delay_ms) rows.push(['First wait after a failure', duration(task.retry_delay_ms)]);
    if (task.max_retry_delay_ms) rows.push(['Longest wait after a failure', duration(task.max_retry_delay_ms)]);
    if (task.compression && task.compression !== 'none') rows.push(['Compression', task.compression]);
    rows.push(['Payload', payload(task)]);
    return make('dl', { class: 'task' }, ...rows.flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)]));
  };

  const one = (route, id) => server.get(server.path('/v1/tasks/{route}/{id}', { route, id }, { payload: server.seesPayloads() ? true : null }));
  const note = (text) => make('p', { class: 'none' }, text);
  const told = (error) => note(error.code === 'not_found' ? 'This route has no task with this id.' : error.message);

  let turn = 0;
  // Shows what is found, unless another search or a clear came first.
  const put = async (place, search) => {
    turn += 1;
    const mine = turn;
    const nodes = await search().catch((error) => [told(error)]);
    if (mine === turn) place.replaceChildren(...nodes);
  };

  // The tasks with an id on many routes: a table, and one of them below it.
  const table = (id, found, next, more) => {
    const below = make('div', { 'aria-live': 'polite' });
    const row = ({ route_key: route, state, fire_at: at }) => make('tr', {},
      make('td', { class: 'any' }, make('button', { type: 'button', class: 'link', onclick: () => put(below, async () => [describe(await one(route, id))]) }, route)),
      make('td', {}, STATES[state] ?? state), make('td', {}, planned(at)));
    const part = next ? `The first ${tasks(found.length)} with this id; there can be more.`
      : `${tasks(found.length)} with this id.${more ? ' There are more routes: give the route.' : ''}`;
    return [
      make('p', { class: 'note' }, part),
      make('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Tasks with this id' }, make('table', { class: 'words' },
        make('thead', {}, make('tr', {}, ...['Route', 'State', 'Scheduled for'].map((name) => make('th', { scope: 'col' }, name)))),
        make('tbody', {}, ...found.map(row)))),
      ...further(id, found, next), below,
    ];
  };
  const further = (id, found, next) => (next ? [make('div', { class: 'row' },
    make('button', { type: 'button', id: 'find-more', onclick: () => put(at('found'), () => search(id, found, next)) }, 'Search further'))] : []);

  const search = async (id, before = [], after = null) => {
    const { tasks: more, next, more: isCut } = await server.get(server.path('/v1/search', {}, { id, after }));
    const found = [...before, ...more];
    if (!found.length) {
      const rest = next ? 'No task with this id on the routes so far.' : 'No route has a task with this id.';
      return [note(isCut && !next ? `${rest} There are more routes: give the route.` : rest), ...further(id, found, next)];
    }
    if (found.length === 1 && !isCut) return [describe(await one(found[0].route_key, id))];
    return table(id, found, next, isCut);
  };

  at('find').addEventListener('submit', (event) => {
    event.preventDefault();
    const [id, route] = [at('find-id').value, at('find-route').value];
    put(at('found'), async () => (route ? [describe(await one(route, id))] : search(id)));
  });

  return {
    clear: () => {
      turn += 1;
      at('find').reset();
      at('found').replaceChildren();
    },
    // Only a token with the right admin can search all routes.
    needRoute: (needed) => {
      at('find-route').required = needed;
      at('find-route').placeholder = needed ? '' : 'any';
    },
  };
})();
