// Asks every two seconds while the page is seen, and less often while there is no answer.
const poll = (() => {
  const EVERY = 2000;
  const LONGEST = 30000;
  const FUTURE = 10000;
  let timer = 0;
  let wait = EVERY;
  let asked = -FUTURE;
  let running = false;

  const status = (state, text) => {
    at('status').dataset.state = state;
    say(at('status'), text);
  };

  const alert = (error) => {
    if (error?.isDropped) return;
    at('alert').hidden = !error;
    say(at('alert'), error ? error.message : '');
  };

  const signed = (access) => {
    // The server takes tokens over HTTPS and from its own machine only.
    at('sign-in').hidden = !isSecureContext || Boolean(access?.name) || access?.needs_token === false;
    at('holder').hidden = !access?.name;
    say(at('who'), access?.name ? `${access.name} (${access.rights.join(', ')})` : '');
  };

  const clear = () => {
    for (const part of [numbers, future, routes, dead, bulk]) part.clear();
    asked = -FUTURE;
  };

  // Removes everything that the token has shown.
  const forget = () => {
    server.use(null);
    signed(null);
    clear();
    find.clear();
  };

  // Removes what the caller may not see, and says what is missing.
  const see = (all) => {
    if (!all) clear();
    for (const part of document.querySelectorAll('.numbers')) part.hidden = !all;
    const one = all || server.may('schedule') || server.may('admin');
    at('find-section').hidden = !one;
    find.needRoute(!all);
    const why = all ? server.whyReadOnly() : server.whyPart();
    at('reading').hidden = server.isAdmin();
    say(at('reading'), server.isAdmin() ? '' : why);
  };

  const show = (summary) => {
    server.learn(summary.access, summary.now);
    signed(summary.access);
    see(true);
    numbers.show(summary);
    routes.show(summary);
    dead.follow();
  };

  // Shows what the caller may see without the right admin. Returns false if the refusal has another
  // reason.
  const part = async (error) => {
    if (error.status === 401 && !server.hasToken()) {
      see(false);
      status('wait', 'Not signed in');
      return true;
    }
    if (error.status !== 403 || !server.hasToken()) return false;
    const access = await server.get('/v1/access');
    if (access.rights.includes('admin')) return false;
    server.learn(access);
    signed(access);
    see(false);
    status('live', 'Signed in');
    return true;
  };

  const all = async () => {
    show(await server.get('/v1/summary'));
    if (server.hasToken() && !server.seesAll()) {
      future.hide('Only a token with the right admin on * sees the tasks ahead, which are of all routes.');
    } else if (performance.now() - asked >= FUTURE) {
      asked = performance.now();
      future.show(await server.get('/v1/future'));
    }
    await bulk.follow();
    numbers.stale(false);
    status('live', 'Live');
    return EVERY;
  };

  // Returns how long to wait before the next request.
  const failed = (error) => {
    asked = -FUTURE;
    if (error.isDropped) return 0;
    if (error.status === 401 && server.hasToken()) {
      forget();
      alert(error);
      return EVERY;
    }
    numbers.stale(true);
    const next = Math.min(Math.max(wait, EVERY) * 2, LONGEST);
    const why = error.code ? error.message : 'no answer';
    status('lost', `${why} – next try in ${next / 1000} s`);
    return next;
  };

  const once = () => all().catch(async (error) => (await part(error) ? LONGEST : failed(error))).catch(failed);

  const run = async () => {
    clearTimeout(timer);
    if (document.hidden || running) return;
    running = true;
    wait = await once();
    running = false;
    if (!document.hidden) timer = setTimeout(run, wait);
  };

  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    if (document.hidden) return;
    wait = EVERY;
    run();
  });
  at('sign-in').addEventListener('submit', (event) => {
    event.preventDefault();
    const token = at('token').value.trim();
    at('token').value = '';
    alert(null);
    if (server.hasToken()) forget();
    server.use(token);
    asked = -FUTURE;
    wait = EVERY;
    run();
  });
  at('forget').addEventListener('click', () => {
    alert(null);
    forget();
    wait = EVERY;
    run();
  });

  signed(null);
  return { run, alert, soon: run };
})();
poll.run();
