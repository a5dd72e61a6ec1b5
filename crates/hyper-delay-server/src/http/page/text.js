// What comes from clients goes into text nodes only.
const at = (id) => document.getElementById(id);

const make = (name, attributes, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, '');
    else if (value !== false && value != null) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
};

const drawing = (name, attributes) => {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};

const say = (node, text) => {
  if (node.textContent !== text) node.textContent = text;
};

const whole = new Intl.NumberFormat('en-GB');
const count = (number) => whole.format(number);
const many = (number, one, more) => `${count(number)} ${number === 1 ? one : more}`;
const tasks = (number) => many(number, 'task', 'tasks');

const bytes = (number) => {
  const names = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let step = 0;
  while (number >= 1000 && step < 4) {
    number /= 1000;
    step += 1;
  }
  return `${number.toFixed(step && number < 10 ? 1 : 0)} ${names[step]}`;
};

const duration = (millis) => {
  if (millis < 1000) return `${Math.round(millis * 10) / 10} ms`;
  const seconds = millis / 1000;
  if (seconds < 60) return `${Math.round(seconds * 10) / 10} s`;
  const parts = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  const first = parts.findIndex(([size]) => seconds >= size);
  const [size, unit] = parts[first];
  const rest = Math.floor((seconds % size) / (parts[first + 1]?.[0] ?? 1));
  const tail = rest && parts[first + 1] ? ` ${rest} ${parts[first + 1][1]}` : '';
  return `${Math.floor(seconds / size)} ${unit}${tail}`;
};

const format = (options) => {
  const inner = new Intl.DateTimeFormat('en-GB', options);
  return (millis) => {
    const date = new Date(millis);
    return Number.isNaN(date.getTime()) ? String(millis) : inner.format(date);
  };
};
const clock = format({ hour: '2-digit', minute: '2-digit' });
const moment = format({
  year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit',
});
const weekday = format({ weekday: 'short', hour: '2-digit', minute: '2-digit' });
const day = format({ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
const month = format({ month: 'short', timeZone: 'UTC' });

// A time with how far it is from the server's now.
const when = (millis) => {
  const ahead = millis - server.now();
  const far = duration(Math.abs(ahead));
  return `${moment(millis)} (${ahead > 0 ? `in ${far}` : `${far} ago`})`;
};
