// Asks every two seconds while the page is seen, and less often while there is no answer.
const poll = (() => {
  const EVERY = 2000;
  const LONGEST = 60000;
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
    at('alert').hidden = !error;
    say(at('alert'), error ? error.message : '');
  };

  const refused = (error) => {
    if (error.status !== 401 || !server.hasToken()) return false;
    server.use(null);
    signed(null);
    alert(error);
    return true;
  };

  const signed = (access) => {
    // The server takes tokens over HTTPS and from its own machine only.
    at('sign-in').hidden = !isSecureContext || Boolean(access?.name) || access?.needs_token === false;
    at('holder').hidden = !access?.name;
    if (access?.name) say(at('who'), `${access.name} (${access.rights.join(', ')})`);
  };

  const show = (summary) => {
    server.learn(summary);
    signed(summary.access);
    numbers.show(summary);
    routes.show(summary);
    dead.follow();
    at('reading').hidden = server.isAdmin();
    say(at('reading'), server.isAdmin() ? '' : server.whyReadOnly());
  };

  const once = async () => {
    const summary = await server.get('/v1/summary');
    show(summary);
    if (server.hasToken() && !server.seesAll()) {
      future.hide('Only a token with the right admin on * sees the tasks ahead, which are of all routes.');
    } else if (performance.now() - asked >= FUTURE) {
      asked = performance.now();
      future.show(await server.get('/v1/future'));
    }
    await bulk.follow();
  };

  const run = async () => {
    clearTimeout(timer);
    if (document.hidden || running) return;
    running = true;
    try {
      await once();
      wait = EVERY;
      numbers.stale(false);
      status('live', 'Live');
    } catch (error) {
      numbers.stale(true);
      asked = -FUTURE;
      if (refused(error)) {
        wait = EVERY;
      } else {
        wait = Math.min(wait * 2, LONGEST);
        const why = error.code ? error.message : 'no answer';
        status('lost', `${why} – next try in ${wait / 1000} s`);
      }
    } finally {
      running = false;
    }
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
    server.use(at('token').value.trim());
    at('token').value = '';
    alert(null);
    asked = -FUTURE;
    run();
  });
  at('forget').addEventListener('click', () => {
    server.use(null);
    asked = -FUTURE;
    signed(null);
    dead.clear();
    run();
  });

  signed(null);
  return { run, alert, soon: run };
})();
poll.run();
