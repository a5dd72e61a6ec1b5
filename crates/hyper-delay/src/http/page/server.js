// Requests. The token is in this closure only: a reload forgets it.
const server = (() => {
  let token = null;
  let skew = 0;
  let access = { needs_token: false, rights: [] };

  const ask = async (path, { method = 'GET', body } = {}) => {
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
    if (response.ok && answer) return answer;
    const { code, message } = answer?.error ?? { message: `the answer has status ${response.status}` };
    throw Object.assign(new Error(message), { code, status: response.status });
  };

  return {
    get: (path) => ask(path),
    post: (path, body) => ask(path, { method: 'POST', body }),
    part: encodeURIComponent,
    query: (values) => {
      const given = Object.entries(values).filter(([, value]) => value !== '' && value != null);
      return given.length ? `?${new URLSearchParams(given)}` : '';
    },
    use: (text) => {
      token = text;
    },
    hasToken: () => token !== null,
    // The server's time, by the last answer that had it.
    now: () => Date.now() + skew,
    learn: (summary) => {
      skew = summary.now - Date.now();
      access = summary.access;
    },
    access: () => access,
    isAdmin: () => access.rights.includes('admin'),
    seesAll: () => !access.needs_token || (access.rights.includes('admin') && access.routes.includes('*')),
    whyReadOnly: () => {
      if (!access.needs_token) {
        return 'Read-only: this server has no tokens. To change things here, make a token with ' +
          '“hyper-delay token new --right admin” and set “tokens” in the configuration.';
      }
      if (!isSecureContext) {
        return 'Read-only: this page was loaded without encryption, so that it takes no token. Set “tls” in ' +
          'the configuration, or use a tunnel (ssh -L) and open it as localhost.';
      }
      return token ? 'Read-only: this token does not give the right admin.'
        : 'Read-only. A token with the right admin can look into tasks and pause, kick and delete.';
    },
  };
})();
