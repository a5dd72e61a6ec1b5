// The five numbers.
const numbers = (() => {
  const WINDOW = 300000;
  // The counts of the histogram at the polls of the last five minutes.
  let seen = [];

  // The bound below which 99 of 100 rounds began.
  const p99 = (buckets) => {
    const all = buckets.reduce((sum, bucket) => sum + bucket.rounds, 0);
    let left = Math.ceil(all * 0.99);
    for (const bucket of buckets) {
      left -= bucket.rounds;
      if (all && left <= 0) return { all, bound: bucket.up_to_ms };
    }
    return { all };
  };

  const lateness = (buckets) => {
    const now = Date.now();
    const last = seen.at(-1)?.buckets;
    // A server that was started again counts from 0.
    if (last?.some((bucket, index) => !(bucket.rounds <= buckets[index]?.rounds))) seen = [];
    seen.push({ now, buckets });
    while (seen.length > 1 && seen[1].now <= now - WINDOW) seen.shift();
    const recent = buckets.map((bucket, index) => ({
      ...bucket, rounds: bucket.rounds - (seen[0].buckets[index]?.rounds ?? 0),
    }));
    const late = p99(recent);
    return late.all ? { ...late, since: 'last 5 minutes' } : { ...p99(buckets), since: 'since the start' };
  };

  const show = (summary) => {
    const { all } = summary;
    say(at('n-waiting'), count(all.waiting));
    say(at('n-waiting-note'), all.ready ? `${count(all.ready)} due, waiting for a consumer` : '');
    say(at('n-due'), (summary.due_within_minute_exact ? '' : '≥ ') + count(all.due_within_minute));
    // Numbers of the whole server are for those who see every route.
    const part = summary.store_bytes === null;
    say(at('n-due-note'), summary.oldest_overdue_ms
      ? `oldest overdue: ${duration(summary.oldest_overdue_ms)}` : part ? '' : 'nothing is overdue');
    at('n-due-note').classList.toggle('warn', summary.oldest_overdue_ms > 60000);
    say(at('n-flight'), count(all.in_flight));
    say(at('n-flight-note'), many(summary.connections, 'connection', 'connections'));
    say(at('n-retrying'), count(all.retrying));
    say(at('n-dead'), count(all.dead));
    at('n-dead').classList.toggle('warn', all.dead > 0);
    say(at('n-dead-note'), part ? '' : `${bytes(summary.store_bytes)} on disk`);
    const late = lateness(summary.lateness);
    const bound = late.bound == null ? '> 1 h' : `≤ ${duration(late.bound)}`;
    say(at('n-late'), late.all ? bound : '–');
    say(at('n-late-note'), late.all ? late.since : part ? '' : 'no delivery yet');
  };

  const clear = () => {
    seen = [];
    for (const node of at('numbers').querySelectorAll('dd')) say(node, node.matches('.note') ? '' : '–');
    for (const node of at('numbers').querySelectorAll('.warn')) node.classList.remove('warn');
  };

  return { show, clear, stale: (is) => at('numbers').classList.toggle('stale', is) };
})();
