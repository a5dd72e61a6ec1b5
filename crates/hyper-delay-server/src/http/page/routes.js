// The routes with the most tasks. Rows stay where they are while one of them is in use.
const routes = (() => {
  const HISTORY = 90;
  const KEYS = ['waiting', 'due_within_minute', 'ready', 'oldest_overdue_ms', 'in_flight', 'retrying', 'dead', 'consumers'];
  const table = at('routes');
  const body = table.tBodies[0];
  const rows = new Map();
  let sorted = { key: 'waiting', down: true };
  let shown = '';

  const pause = async (row) => {
    const verb = row.data.paused ? 'resume' : 'pause';
    row.button.disabled = true;
    try {
      await server.post(server.path(`/v1/routes/{route}/${verb}`, { route: row.data.route_key }));
      // The numbers of the server can be 200 ms old.
      setTimeout(poll.soon, 250);
    } catch (error) {
      poll.alert(error);
    } finally {
      row.button.disabled = false;
    }
  };

  const create = (route) => {
    const row = { history: [], cells: {} };
    row.name = make('span', { title: route }, route);
    row.tag = make('span', { class: 'tag', hidden: true }, 'paused');
    row.path = drawing('path', {});
    const spark = drawing('svg', { viewBox: `0 0 ${HISTORY - 1} 20`, preserveAspectRatio: 'none', 'aria-hidden': 'true' });
    spark.append(row.path);
    for (const key of KEYS) row.cells[key] = make('td');
    row.letters = make('button', { type: 'button', class: 'link', onclick: () => dead.open(route) });
    row.button = make('button', { type: 'button', onclick: () => pause(row) });
    row.node = make('tr', {}, make('td', {}, row.name, row.tag), ...KEYS.map((key) => row.cells[key]),
      make('td', { class: 'trend' }, spark), make('td', { class: 'act' }, row.button));
    return row;
  };

  const fill = (row, data) => {
    row.data = data;
    for (const key of KEYS) {
      const cell = row.cells[key];
      cell.className = data[key] ? '' : 'zero';
      if (key === 'dead' && data.dead) {
        say(row.letters, count(data.dead));
        row.letters.setAttribute('aria-label', `Show ${many(data.dead, 'dead letter', 'dead letters')} of ${data.route_key}`);
        if (!row.letters.isConnected) cell.replaceChildren(row.letters);
      } else if (key === 'oldest_overdue_ms') {
        say(cell, data[key] ? duration(data[key]) : '–');
        cell.classList.toggle('warn', data[key] > 60000);
      } else say(cell, count(data[key]));
    }
    row.tag.hidden = !data.paused;
    say(row.button, data.paused ? 'Resume' : 'Pause');
    row.button.setAttribute('aria-label', `${data.paused ? 'Resume' : 'Pause'} ${data.route_key}`);
    row.history.push(data.waiting);
    if (row.history.length > HISTORY) row.history.shift();
    const low = Math.min(...row.history);
    const range = Math.max(...row.history) - low;
    const from = HISTORY - row.history.length;
    const points = row.history.map((value, index) => (
      `${from + index} ${range ? 19 - ((value - low) / range) * 18 : 10}`
    ));
    row.path.setAttribute('d', `M${points.join('L')}`);
  };

  const order = () => {
    const { key, down } = sorted;
    const compare = (a, b) => {
      const [x, y] = [a.data[key], b.data[key]];
      const by = typeof x === 'string' ? x.localeCompare(y) : x - y;
      return (down ? -by : by) || a.data.route_key.localeCompare(b.data.route_key);
    };
    return [...rows.values()].sort(compare);
  };

  const place = (force) => {
    const isUsed = body.contains(document.activeElement) || body.matches(':hover');
    if (isUsed && !force && body.rows.length === rows.size) return;
    const nodes = order().map((row) => row.node);
    if (nodes.some((node, index) => body.rows[index] !== node) || body.rows.length !== nodes.length) {
      body.replaceChildren(...nodes);
    }
    if (!nodes.length) body.replaceChildren(make('tr', {}, make('td', { colspan: 10, class: 'none' }, 'No route has tasks or consumers.')));
  };

  table.tHead.addEventListener('click', (event) => {
    const head = event.target.closest('th[data-key]');
    if (!head || !event.target.closest('button')) return;
    const { key } = head.dataset;
    sorted = { key, down: sorted.key === key ? !sorted.down : key !== 'route_key' };
    for (const other of table.tHead.querySelectorAll('th[data-key]')) {
      const is = sorted.down ? 'descending' : 'ascending';
      other.setAttribute('aria-sort', other === head ? is : 'none');
    }
    place(true);
  });

  const show = (summary) => {
    const found = new Set();
    for (const data of summary.routes) {
      found.add(data.route_key);
      if (!rows.has(data.route_key)) rows.set(data.route_key, create(data.route_key));
      fill(rows.get(data.route_key), data);
    }
    for (const route of rows.keys()) if (!found.has(route)) rows.delete(route);
    place(false);
    for (const part of table.querySelectorAll('.act')) part.hidden = !server.isAdmin();
    const { other, all } = summary;
    const rest = other.waiting + other.in_flight + other.dead;
    say(at('routes-note'), [
      many(all.consumers, 'consumer', 'consumers'),
      rest ? `${tasks(rest)} on other routes` : '',
    ].filter(Boolean).join(' · '));
    const names = [...found].sort().join('\n');
    if (names === shown) return;
    shown = names;
    at('names').replaceChildren(...[...found].sort().map((value) => make('option', { value })));
  };

  const clear = () => {
    rows.clear();
    shown = '';
    body.replaceChildren();
    at('names').replaceChildren();
    say(at('routes-note'), '');
  };

  return { show, clear, dead: (route) => rows.get(route)?.data.dead };
})();
