// Replaces the clock and the timeouts of the global scope until `restore` is called.
(() => {
  const { setTimeout, clearTimeout } = globalThis;
  const now = performance.now;
  const timeouts = new Map();
  let clock = 0;
  let last = 0;
  let delays = [];
  performance.now = () => clock;
  globalThis.setTimeout = (callback, delay) => {
    timeouts.set(++last, callback);
    delays.push(delay);
    return last;
  };
  globalThis.clearTimeout = (id) => timeouts.delete(id);
  return {
    set_clock(millis) {
      clock = millis;
    },
    // Calls the callback of the only timeout, at this time.
    call_back(at) {
      clock = at;
      if (timeouts.size !== 1) throw new Error(`${timeouts.size} timeouts are set`);
      const [[id, callback]] = timeouts;
      timeouts.delete(id);
      callback();
    },
    timeouts() {
      return timeouts.size;
    },
    // The delays of the timeouts that were set since the last call.
    take_delays() {
      return Float64Array.from(delays.splice(0));
    },
    restore() {
      performance.now = now;
      globalThis.setTimeout = setTimeout;
      globalThis.clearTimeout = clearTimeout;
    },
  };
})();
