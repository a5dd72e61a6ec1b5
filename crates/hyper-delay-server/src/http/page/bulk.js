// Kicks and deletes all that match, follows the work, and shows what was changed.
const bulk = (() => {
  const VERBS = { kick: ['Kick', 'Kicked'], delete: ['Delete', 'Deleted'], kick_all: ['Kick', 'Kicked'], delete_all: ['Delete', 'Deleted'], purge: ['Purge', 'Purged'] };
  const letters = (number) => many(number, 'dead letter', 'dead letters');
  // The numbers of the jobs that this page began, with how many tasks they were counted for.
  const begun = new Map();
  const shown = new Map();

  const sure = (title, text, yes, isBad) => new Promise((resolve) => {
    const dialog = at('sure');
    say(at('sure-title'), title);
    say(at('sure-text'), text);
    say(at('sure-yes'), yes);
    at('sure-yes').className = isBad ? 'bad' : 'main';
    dialog.returnValue = 'no';
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
    dialog.showModal();
  });

  const describe = ({ route, reason, until }) => [
    `Route: ${route}.`,
    reason === null ? 'Any reason.' : reason ? `Reason: ${reason}.` : 'No reason given.',
    until ? `Died before ${moment(until)}.` : '',
  ].filter(Boolean).join(' ');

  const begin = async (verb, filter) => {
    const { route, reason, until } = filter;
    const body = {};
    if (reason !== null) body.reason = reason;
    if (until !== null) body.until = until;
    const path = server.path(`/v1/bulk/{route}/${verb}`, { route });
    poll.alert(null);
    try {
      const { tasks: number, more } = await server.post(path, { ...body, dry_run: true });
      const [act] = VERBS[verb];
      const all = more ? 'all' : count(number);
      const title = more ? `${act} more than ${letters(number)}?` : `${act} ${letters(number)}?`;
      const effect = verb === 'kick' ? 'They become due now, with all their attempts.' : 'This cannot be undone.';
      const isSure = number > 0 && await sure(title, `${describe(filter)} ${effect}`, `${act} ${all}`, verb === 'delete');
      if (!number) poll.alert(new Error('No dead letter matches now.'));
      if (!isSure) return;
      const { job } = await server.post(path, body);
      begun.set(job, more ? 0 : number);
      await follow();
    } catch (error) {
      poll.alert(error);
    }
  };

  const text = (job) => {
    const [, did] = VERBS[job.act] ?? ['', job.act];
    const done = `${did} ${letters(job.changed)} of ${job.route_key}`;
    if (job.state === 'running') return `${done} so far`;
    return job.state === 'done' ? `${done}.` : `${done}; the job ${job.state === 'failed' ? 'failed' : 'was stopped'}.`;
  };

  const show = (job) => {
    if (!shown.has(job.job)) {
      const row = { text: make('span', {}), bar: make('progress', { max: 1, value: 0, 'aria-label': 'Progress' }) };
      row.node = make('p', { class: 'row' }, row.text, row.bar);
      shown.set(job.job, row);
      at('work').prepend(row.node);
    }
    const row = shown.get(job.job);
    say(row.text, text(job));
    const all = begun.get(job.job);
    row.bar.hidden = job.state !== 'running';
    if (all) row.bar.value = Math.min(job.changed / all, 1);
    else row.bar.removeAttribute('value');
    if (job.state !== 'running' && begun.delete(job.job)) dead.load();
  };

  let last = '';
  const audit = async () => {
    const { lines } = await server.get('/v1/audit?limit=20');
    const text = JSON.stringify(lines);
    if (text === last) return;
    last = text;
    at('audit-rows').replaceChildren(...lines.map((line) => make('tr', {},
      make('td', {}, moment(line.at)),
      make('td', {}, line.act.replaceAll('_', ' ')),
      make('td', { class: 'any' }, line.id ? `${line.route_key} / ${line.id}` : line.route_key),
      make('td', {}, line.tasks === undefined ? '' : count(line.tasks)),
      make('td', { class: 'any' }, line.by ?? line.address ?? ''))));
    if (!lines.length) at('audit-rows').replaceChildren(make('tr', {}, make('td', { colspan: 5, class: 'none' }, 'No operator has changed anything.')));
  };

  const follow = async () => {
    at('audit').hidden = !server.seesAll();
    if (!server.seesAll()) return;
    const { jobs } = await server.get('/v1/jobs');
    for (const job of jobs) {
      if (job.state === 'running' || begun.has(job.job) || shown.has(job.job)) show(job);
    }
    await audit();
  };

  const clear = () => {
    at('sure').close();
    begun.clear();
    shown.clear();
    last = '';
    at('audit').hidden = true;
    at('work').replaceChildren();
    at('audit-rows').replaceChildren();
    for (const id of ['sure-title', 'sure-text', 'sure-yes']) say(at(id), '');
  };

  return { begin, follow, clear };
})();
