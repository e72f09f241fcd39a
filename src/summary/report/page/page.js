// SPDX-License-Identifier: Apache-2.0
// The script of the report: page.js, charts.js, timeline.js and use.js, joined by tools/embed-page into one function. The page is there
// already; this adds charts from the data that src/summary/report/report.c wrote, and buttons. Texts go in as text nodes only.
// tools/embed-page strips it and counts on this: comments fill whole lines, and there are no template literals.
const root = document.documentElement, byId = id => document.getElementById(id), input = JSON.parse(byId('data').textContent)
const {max, min, round, floor, ceil, abs} = Math, over = byId('over'), say = byId('say')
function el(tag, look = '', ...kids) {
    const e = document.createElement(tag)
    e.className = look
    e.append(...kids.filter(given))
    return e
}
const given = v => v || v === 0
function set(e, props) {
    for (const prop in props) e.setAttribute(prop, props[prop])
    return e
}
function press(look, label, act) {
    const e = el('button', look, ...label)
    e.addEventListener('click', () => act(e))
    return e
}
const div = (look, ...kids) => el('div', look, ...kids)
const small = label => el('small', '', label)

// Numbers as src/summary/units.c writes them. A kind is its unit's step and the names of the units.
function num(v) {
    if (v > 0 && v < .0005) return '<0.001'
    return String(+v.toFixed(v >= 99.95 ? 0 : v >= 9.995 ? 1 : v >= .0995 || !v ? 2 : 3)).replace(/\B(?=(\d{3})+$)/g, ',')
}
const KINDS = {
    cores: [1, 'cores'], GPUs: [1, 'GPUs'], '%': [1, '%'], W: [1, 'W'],
    bytes: [1024, 'B', 'KiB', 'MiB', 'GiB', 'TiB'], 'bytes/s': [1000, 'B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s'],
}
function unitFor(kind, v, edge = .5) {
    let by = 1, i = 1
    while (kind[0] > 1 && v / by >= kind[0] - edge && i < kind.length - 1) by *= kind[0], i++
    return [by, kind[i]]
}
function text(kind, v) {
    const [by, unit] = unitFor(kind, v), shown = num(v / by)
    return shown + '\u00a0' + (kind[0] < 2 && shown === '1' ? unit.replace('s', '') : unit)
}
const two = n => String(n).padStart(2, '0')
function duration(s) {
    if (s < 59.95) return num(s) + '\u00a0s'
    const names = ['s', 'min', 'h', 'd'], sizes = [60, 60, 24]
    let unit = 0, n = round(s)
    while (unit < 2 && n >= sizes[unit] * sizes[unit + 1]) n = floor(n / sizes[unit++])
    const rest = n % sizes[unit]
    return num(floor(n / sizes[unit])) + ' ' + names[unit + 1] + (rest ? ' ' + rest + ' ' + names[unit] : '')
}
function clock(s, step) {
    const whole = floor(s + 1e-6), hours = whole / 3600 | 0, minutes = whole / 60 % 60 | 0, seconds = two(whole % 60)
    if (!s) return '0'
    if (s < 120 && step < 60) return +s.toFixed(2) + ' s'
    if (step < 60) return hours ? hours + ':' + two(minutes) + ':' + seconds : minutes + ':' + seconds
    if (s < 7200 && step < 3600) return round(s / 60) + ' min'
    return step < 3600 ? hours + ':' + two(minutes) + ' h' : round(s / 3600) + ' h'
}
const utc = ms => new Date(ms).toISOString().slice(11, 19)

function copy(content, knob) {
    const label = text => knob.textContent = text
    const done = () => (label('Copied'), setTimeout(label, 1500, 'Copy'))
    const byHand = () => {
        const field = el('textarea', '', content)
        document.body.append(field)
        field.select()
        if (document.execCommand('copy')) done()
        field.remove()
        knob.focus()
    }
    if (navigator.clipboard) navigator.clipboard.writeText(content).then(done, byHand)
    else byHand()
}
for (const row of document.querySelectorAll('.ready > div')) {
    const content = row.querySelector('code').textContent
    row.append(set(press('copy', ['Copy'], knob => copy(content, knob)),
        {'aria-label': 'Copy the line for ' + row.querySelector('span').textContent}))
}
