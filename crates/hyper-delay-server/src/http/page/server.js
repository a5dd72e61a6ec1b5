// Requests. The token is in this closure only: a reload forgets it. An answer to a request of an
// earlier token is dropped.
const server = (() => {
  let token = null;
  let turn = 0;
  let skew = 0;
  let access = { needs_token: false, rights: [] };
  const UNENCRYPTED = 'Read-only: this page was loaded without encryption, so that it takes no token. Set “tls” in ' +
    'the configuration, or use a tunnel (ssh -L) and open it as localhost.';

  const ask = async (path, { method = 'GET', body } = {}) => {
    const mine = turn;
    const headers = {};
    if (token) headers.Authorization = `Bearer ${token}`;
    if (method === 'POST') headers['Content-Type'] = 'application/json';
    const response = await fetch(path, {
      method,
      headers,
      body: method === 'POST' ? JSON.stringify(body ?? {}) : undefined,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      signal: AbortSignal.timeout(15000),
    });
    const answer = await response.json().catch(() => null);
    if (mine !== turn) throw Object.assign(new Error('The token has changed.'), { isDropped: true });
    if (response.ok && answer) return answer;
    const { code, message } = answer?.error ?? { message: `the answer has status ${response.status}` };
    throw Object.assign(new Error(message), { code, status: response.status });
  };

  return {
    get: (path) => ask(path),
    post: (path, body) => ask(path, { method: 'POST', body }),
    // The path with its names, and the query. Browsers take the parts . and .. out of a path,
    // however they are encoded: such a name is in the query.
    path: (path, names = {}, query = {}) => {
      const given = Object.entries(query).filter(([, value]) => value != null);
      const whole = path.replace(/{(\w+)}/g, (_, name) => {
        if (!/^\.\.?$/.test(names[name])) return encodeURIComponent(names[name]);
        given.push([name, names[name]]);
        return '-';
      });
      return given.length ? `${whole}?${new URLSearchParams(given)}` : whole;
    },
    use: (text) => {
      token = text;
      turn += 1;
      access = { needs_token: true, rights: [] };
    },
    hasToken: () => token !== null,
    // The server's time, by the last answer that had it.
    now: () => Date.now() + skew,
    learn: (given, now) => {
      access = given;
      if (now) skew = now - Date.now();
    },
    may: (right) => access.rights.includes(right),
    seesPayloads: () => !access.needs_token || ['consume', 'admin'].some((right) => access.rights.includes(right)),
    isAdmin: () => access.rights.includes('admin'),
    seesAll: () => !access.needs_token || (access.rights.includes('admin') && access.routes.includes('*')),
    whyReadOnly: () => {
      if (!access.needs_token) {
        return 'Read-only: this server has no tokens. To change things here, make a token with ' +
          '“hyper-delay token new --right admin” and set “tokens” in the configuration.';
      }
      if (!isSecureContext) return UNENCRYPTED;
      return 'Read-only. With a token that has the right admin you can look at tasks, pause routes, ' +
        'and kick or delete dead letters.';
    },
    whyPart: () => {
      if (!isSecureContext) return UNENCRYPTED;
      if (!token) return 'This server shows nothing without a token. Enter one above.';
      const missing = 'This token does not have the right admin, which numbers, routes and dead letters need.';
      return access.rights.includes('schedule') ? `${missing} With its right schedule you can look up a task by its id and route.`
        : `${missing} To look up a task, use a token with the right schedule or admin.`;
    },
  };
})();
