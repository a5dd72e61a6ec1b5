// The tasks ahead as bars: a slider moves through them.
const future = (() => {
  const SIZES = { minutes: 60000, hours: 3600000, days: 86400000 };
  const STARTS = { minutes: 'minute', hours: 'hour', days: 'day' };
  const TITLES = { minutes: 'hour', hours: '48 hours', days: 'year' };
  const chart = at('chart');
  let data = null;
  let span = 'minutes';
  let position = null;

  const start = (index) => data[STARTS[span]] + index * SIZES[span];
  const name = (index) => {
    if (span === 'minutes') return clock(start(index));
    if (span === 'hours') return `${weekday(start(index))} to ${clock(start(index + 1))}`;
    return day(start(index));
  };

  const caption = () => {
    if (!data) return '';
    const bars = data[span];
    if (position !== null) return `${name(position)}: ${tasks(bars[position])}`;
    const all = bars.reduce((sum, bar) => sum + bar, 0);
    if (!all) return `Nothing is due in the next ${TITLES[span]}.`;
    const most = Math.max(...bars);
    const part = data.counted_until ? ' so far (the server is counting)' : '';
    return `${tasks(all)}${part} in the next ${TITLES[span]}, most at ${name(bars.indexOf(most))}: ${count(most)}`;
  };

  const tick = (index) => {
    if (span === 'minutes') return (start(index) / 60000) % 10 === 0 ? clock(start(index)) : null;
    if (span === 'hours') {
      const hour = new Date(start(index)).getHours();
      return hour % 12 === 0 ? weekday(start(index)) : null;
    }
    return new Date(start(index)).getUTCDate() === 1 ? month(start(index)) : null;
  };

  const drawTicks = (bars) => {
    const marks = [];
    const narrow = chart.clientWidth < 560;
    bars.forEach((_, index) => {
      const text = tick(index);
      if (text === null || (narrow && marks.length && index - marks.at(-1).index < bars.length / 6)) return;
      marks.push({ index, text });
    });
    at('ticks').replaceChildren(...marks.map(({ index, text }) => {
      const mark = make('span', { class: index / bars.length < 0.06 ? 'edge' : '' }, text);
      mark.style.left = `${((index + (index ? 0.5 : 0)) / bars.length) * 100}%`;
      return mark;
    }));
  };

  const mark = () => {
    at('bars').querySelectorAll('.back').forEach((bar, index) => {
      bar.setAttribute('visibility', index === position ? 'visible' : 'hidden');
    });
    say(at('ahead-text'), caption());
    chart.setAttribute('aria-valuenow', position ?? 0);
    chart.setAttribute('aria-valuetext', caption());
  };

  const draw = () => {
    if (!data) return;
    const bars = data[span];
    const most = Math.max(...bars, 1);
    const width = 1000 / bars.length;
    const nodes = bars.flatMap((bar, index) => {
      const box = { x: index * width + width * 0.12, width: width * 0.76 };
      // A bar of few tasks stays visible beside one of many.
      const height = bar ? Math.max((bar / most) * 100, 1.5) : 0;
      return [
        drawing('rect', { class: 'back', x: index * width, width, y: 0, height: 100, visibility: 'hidden' }),
        drawing('rect', { ...box, y: 100 - height, height }),
      ];
    });
    at('bars').setAttribute('viewBox', '0 0 1000 100');
    at('bars').replaceChildren(...nodes);
    chart.setAttribute('aria-valuemax', bars.length - 1);
    say(at('chart-top'), Math.max(...bars) ? count(Math.max(...bars)) : '');
    if (position !== null && position >= bars.length) position = null;
    drawTicks(bars);
    mark();
  };

  const go = (to) => {
    if (!data) return;
    position = to === null ? null : Math.min(Math.max(to, 0), data[span].length - 1);
    mark();
  };

  chart.addEventListener('keydown', (event) => {
    const from = position ?? -1;
    const page = span === 'minutes' ? 10 : span === 'hours' ? 12 : 30;
    const to = {
      ArrowRight: from + 1, ArrowUp: from + 1, ArrowLeft: from - 1, ArrowDown: from - 1, Home: 0,
      End: Infinity, PageUp: from + page, PageDown: from - page,
    }[event.key];
    if (event.key === 'Escape') go(null);
    if (to === undefined) return;
    event.preventDefault();
    go(to);
  });
  chart.addEventListener('blur', () => go(null));
  chart.addEventListener('pointermove', (event) => {
    const box = at('bars').getBoundingClientRect();
    go(Math.floor(((event.clientX - box.left) / box.width) * (data?.[span].length ?? 0)));
  });
  chart.addEventListener('pointerleave', () => go(null));
  at('spans').addEventListener('change', (event) => {
    span = event.target.value;
    position = null;
    draw();
  });
  addEventListener('resize', draw);

  return {
    show: (answer) => {
      data = answer;
      chart.hidden = false;
      draw();
    },
    // Shows why there is nothing instead of the tasks ahead.
    hide: (why) => {
      data = null;
      chart.hidden = true;
      say(at('ahead-text'), why);
    },
    clear: () => {
      data = null;
      position = null;
      at('bars').replaceChildren();
      at('ticks').replaceChildren();
      say(at('chart-top'), '');
      mark();
    },
  };
})();
