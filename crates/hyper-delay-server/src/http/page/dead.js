// The dead letters of a route, grouped by reason.
const dead = (() => {
  const READ = 500;
  const LISTED = 50;
  const letters = at('letters');
  let filter = null;
  let known;
  let turn = 0;

  const why = (reason) => reason || 'no reason given';

  // The reason to select: null for any, empty for none.
  const chosen = () => (at('dead-none').checked ? '' : at('dead-reason').value || null);
  const choose = (reason) => {
    at('dead-none').checked = reason === '';
    at('dead-reason').disabled = reason === '';
    at('dead-reason').value = reason ?? '';
  };

  // The letters that were read, by reason, with the numbers of all if the server has counted them.
  const groups = (found, more, counted) => {
    const by = new Map();
    for (const { reason, tasks: number } of counted ?? []) by.set(reason, { number: count(number), those: [] });
    for (const letter of found) {
      const key = letter.reason ?? '';
      if (!by.has(key)) by.set(key, { those: [] });
      by.get(key).those.push(letter);
    }
    for (const group of by.values()) group.number ??= count(group.those.length) + (more ? '+' : '');
    return [...by].sort(([, a], [, b]) => b.those.length - a.those.length);
  };

  const table = (head, rows) => make('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Dead letters' },
    make('table', { class: 'words' },
      make('thead', {}, make('tr', {}, ...head.map((name) => make('th', { scope: 'col' }, name)))),
      make('tbody', {}, ...rows.map((row) => make('tr', {}, ...row.map((cell) => make('td', { class: 'any' }, cell)))))));

  const only = (reason) => make('button', {
    type: 'button',
    onclick: () => {
      choose(reason);
      load();
    },
  }, 'Only these');

  const buttons = () => {
    if (!server.isAdmin()) return [];
    return [make('div', { class: 'row' },
      make('button', { type: 'button', id: 'kick-all', onclick: () => bulk.begin('kick', filter) }, 'Kick all that match…'),
      make('button', { type: 'button', id: 'delete-all', class: 'bad', onclick: () => bulk.begin('delete', filter) }, 'Delete all that match…'))];
  };

  const show = ({ tasks: found, more }, counted) => {
    if (!found.length) {
      const rest = more ? ' among those that were searched: the server searches a part at a time' : '';
      letters.replaceChildren(make('p', { class: 'none' }, `No dead letter matches${rest}.`), ...(more ? buttons() : []));
      return;
    }
    const all = groups(found, more, counted);
    at('reasons').replaceChildren(...all.map(([value]) => make('option', { value })));
    const part = more ? `These are the oldest ${count(found.length)} that match; there are more.` : `${many(found.length, 'dead letter matches', 'dead letters match')}.`;
    letters.replaceChildren(
      make('p', { class: 'note' }, part),
      table(['Reason', 'Number', 'First', 'Last', ''], all.map(([reason, { number, those }]) => [
        why(reason), number, those.length ? moment(those[0].died_at) : '–',
        those.length && !more ? moment(those.at(-1).died_at) : '–', all.length > 1 ? only(reason) : '',
      ])),
      ...buttons(),
      make('details', {}, make('summary', {}, `The oldest ${Math.min(found.length, LISTED)}`),
        table(['Id', 'Died', 'Rounds', 'Reason'], found.slice(0, LISTED).map((letter) => [
          letter.id, letter.died_at ? moment(letter.died_at) : '–', count(letter.attempt), why(letter.reason),
        ]))),
    );
  };

  const load = async () => {
    const route = at('dead-route').value;
    if (!route) return;
    const until = at('dead-until').value;
    filter = { route, reason: chosen(), until: until ? new Date(until).getTime() : null };
    known = routes.dead(route);
    turn += 1;
    const mine = turn;
    const query = { reason: filter.reason, until: filter.until };
    try {
      const answer = await server.get(server.path('/v1/dead/{route}', { route }, { limit: READ, ...query }));
      const isWhole = query.reason === null && query.until === null;
      const counted = isWhole ? await server.get(server.path('/v1/reasons', {}, { route })) : null;
      if (mine === turn) show(answer, counted && !counted.more ? counted.reasons : null);
    } catch (error) {
      if (mine === turn) letters.replaceChildren(make('p', { class: 'none' }, error.message));
    }
  };

  at('dead').addEventListener('submit', (event) => {
    event.preventDefault();
    load();
  });
  at('dead-none').addEventListener('change', () => choose(at('dead-none').checked ? '' : null));

  return {
    load,
    open: (route) => {
      at('dead-route').value = route;
      choose(null);
      at('dead-until').value = '';
      at('dead-title').scrollIntoView();
      at('dead-route').focus({ preventScroll: true });
      load();
    },
    // Reads again if the number of dead letters has changed.
    follow: () => {
      if (filter && routes.dead(filter.route) !== known && !letters.contains(document.activeElement)) load();
    },
    clear: () => {
      filter = null;
      turn += 1;
      at('dead').reset();
      choose(null);
      letters.replaceChildren();
      at('reasons').replaceChildren();
    },
  };
})();
