// SPDX-License-Identifier: Apache-2.0
// Fills the page from the data that src/summary/report.c wrote. Texts go in as text nodes only, never as markup.
// tools/embed-page strips it and counts on this: comments fill whole lines, and there are no template literals.
'use strict';
(() => {
const input = JSON.parse(document.getElementById('data').textContent), S = input.summary
const {max, min, round, floor, ceil} = Math, page = document.getElementById('page'), say = document.getElementById('say')
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
function press(look, words, act) {
    const e = el('button', look, ...words)
    e.addEventListener('click', () => act(e))
    return e
}
const div = (look, ...kids) => el('div', look, ...kids)
const small = words => el('small', '', words)
const chapter = (words, more, ...kids) => page.append(el('h2', '', words, more && small(' · ' + more)), ...kids)

// Numbers: about three digits, with a unit that fits. A kind is its unit's step and the names of the units.
function num(v) {
    if (!given(v)) return '–'
    if (v >= 100 || v === 0) return round(v).toLocaleString('en')
    return v < .005 ? v < .0005 ? '< 0.001' : v.toFixed(3) : String(+v.toFixed(v >= 10 ? 1 : 2))
}
const CORES = [1, 'cores'], GPUS = [1, 'GPUs'], PERCENT = [1, '%'], MEMORY = [1024, 'B', 'KiB', 'MiB', 'GiB', 'TiB']
const AMOUNT = [1000, 'B', 'kB', 'MB', 'GB', 'TB'], RATE = [1000, 'B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s']
const ENERGY = [1000, 'J', 'kJ', 'MJ', 'GJ'], MIB = 1048576
const KINDS = {cores: CORES, GPUs: GPUS, '%': PERCENT, bytes: MEMORY, 'bytes/s': RATE}
function unitFor(kind, v) {
    let by = 1, i = 1
    while (v / by >= kind[0] && i < kind.length - 1) by *= kind[0], i++
    return [by, kind[i]]
}
function inUnit(kind, v) {
    const [by, unit] = unitFor(kind, v), shown = num(v / by)
    return given(v) && [shown, kind[0] < 2 && shown === '1' ? unit.replace('s', '') : unit]
}
const text = (kind, v) => (inUnit(kind, v) || ['–']).join(' ')
const ofMib = v => given(v) && text(MEMORY, v * MIB), ofBytes = v => given(v) && text(AMOUNT, v)
const around = (before, v, after) => given(v) ? before + v + after : ''
function duration(s) {
    const whole = round(s), parts = [whole / 86400 | 0, whole / 3600 % 24 | 0, whole / 60 % 60 | 0, whole % 60]
    if (!(s >= 120)) return given(s) ? num(s) + ' s' : '–'
    const first = parts.findIndex(part => part), shown = parts.map((part, i) => part && i < first + 2 && part + [' d', ' h', ' min', ' s'][i])
    return shown.filter(part => part).join(' ')
}
const two = n => String(n).padStart(2, '0')
function clock(s, step) {
    const whole = floor(s + 1e-6), hours = whole / 3600 | 0, minutes = whole / 60 % 60 | 0, seconds = two(whole % 60)
    if (!s) return '0'
    if (s < 120 && step < 60) return +s.toFixed(2) + ' s'
    if (step < 60) return hours ? hours + ':' + two(minutes) + ':' + seconds : minutes + ':' + seconds
    if (s < 7200 && step < 3600) return round(s / 60) + ' min'
    return step < 3600 ? hours + ':' + two(minutes) + ' h' : round(s / 3600) + ' h'
}
const utc = ms => new Date(ms).toISOString().slice(0, 19).replace('T', ' ') + ' UTC'
function header() {
    const {verdict, detail} = S.result || {}, words = S.command || []
    const heading = S.job_name || (words[0] || '').split('/').pop() || S.hostname || 'Resource report'
    const [tint, sign] = {finished: ['good', '✓ '], 'maybe out of memory': ['warn', '? '], unknown: ['dim', '? '], stopped: ['dim', '? ']}[verdict] || ['bad', '✕ ']
    const facts = [
        ['Host', S.hostname], ['Kernel', S.kernel], ['Started', given(S.started_ms) && utc(S.started_ms)],
        [S.runs > 1 ? 'Mean wall time' : 'Wall time', given(S.wall_secs) && duration(S.wall_secs)],
        ['Merged', S.runs > 1 && S.runs + ' runs' + (S.runs_failed ? ', ' + S.runs_failed + ' failed' : '')],
        ['Samples', given(S.samples) && S.samples.toLocaleString('en') + (S.samples > 1 && S.interval_secs ? ' every ' + num(S.interval_secs) + ' s' : '') +
            (S.missed_samples ? ', ' + S.missed_samples + ' missed' : '')],
    ]
    document.title = heading + ' · resources'
    page.append(el('header', '', el('p', 'brand', 'Resource report'),
        div('head', el('h1', '', heading), verdict && el('b', 'badge ' + tint, sign + verdict)),
        el('p', 'dim', detail),
        words.length > 0 && el('code', 'command',
            words.map(w => /^[\w@%+=:,.\/-]+$/.test(w) ? w : "'" + w.split("'").join("'\\''") + "'").join(' ')),
        el('dl', 'facts', ...facts.map(([term, about]) => given(about) && div('', el('dt', '', term), el('dd', '', about))))))
}
const tiles = div('tiles')
function tile(label, shown, share, ...more) {
    if (!shown) return
    const bar = el('i', share > 90 ? 'high' : '')
    bar.style.width = min(100, share) + '%'
    tiles.append(div('card', div('label', label), div('big', shown[0], small(' ' + shown[1])),
        given(share) && div('meter', bar), ...more.filter(given).map(words => div('dim', words))))
}
const sum = (a, b) => given(a) || given(b) ? (a || 0) + (b || 0) : null
const moved = (a, b, before, middle, after) => given(sum(a, b)) && before + ofBytes(a || 0) + middle + ofBytes(b || 0) + after
function overview() {
    const chip = S.cpu, ram = S.memory, drive = S.disk, net = S.network, cards = S.gpu, waits = S.pressure, cost = S.tracker
    if (chip) {
        const own = given(chip.cores_mean) ? '' : 'host_', part = what => chip[own + 'cores_' + what]
        tile(own ? 'Mean CPU of the host' : 'Mean CPU', inUnit(CORES, part('mean')), chip.limit_used_pct,
            'P95 ' + num(part('p95')) + (chip.limit_cores ? ' of ' + text(CORES, chip.limit_cores) : ''), 'peak ' + num(part('peak')),
            given(chip.total_secs) && duration(chip.total_secs) + ' of CPU time' + (chip.is_lower_bound ? ' or more' : ''),
            chip.throttled_secs > 0 && 'throttled for ' + duration(chip.throttled_secs))
    }
    if (ram) {
        const used = ram.limit_used_pct, need = ram.need_mib, own = given(need), most = own ? need : ram.host_used_peak_mib
        tile(own ? 'Peak memory' : 'Peak memory of the host', given(most) && inUnit(MEMORY, most * MIB), used,
            given(used) && num(used) + ' % of ' + ofMib(ram.limit_mib), around('', ofMib(ram.pss_peak_mib), ' PSS'),
            around('', ofMib(ram.rss_peak_mib), ' RSS'), around('', ofMib(ram.cgroup_peak_mib), ' in the cgroup'))
    }
    if (drive) {
        const own = sum(drive.read_bytes, drive.write_bytes), others = sum(drive.host_read_bytes, drive.host_write_bytes)
        tile(given(own) ? 'Disk' : 'Disk of the host', inUnit(AMOUNT, given(own) ? own : others), null,
            moved(drive.read_bytes, drive.write_bytes, '', ' read, ', ' written'),
            moved(drive.host_read_bytes, drive.host_write_bytes, given(own) ? 'host: ' : '', ' read, ', ' written'))
    }
    if (net) tile('Network of the host', inUnit(AMOUNT, sum(net.host_received_bytes, net.host_sent_bytes)), null,
        moved(net.host_received_bytes, net.host_sent_bytes, '', ' received, ', ' sent'))
    if (cards) {
        const own = given(cards.usage_mean) ? '' : 'host_'
        tile(own ? 'Mean GPU of the host' : 'Mean GPU', inUnit(GPUS, cards[own + 'usage_mean']), null,
            'peak ' + num(cards[own + 'usage_peak']) + around(' of ', cards.count, ''),
            around('', ofMib(cards[own + 'vram_peak_mib']), ' of VRAM'), (cards.names || []).join(', '))
        tile('GPU energy', inUnit(ENERGY, cards.energy_joules), null, num(cards.energy_joules / 3600) + ' Wh, all GPUs')
    }
    if (waits && S.wall_secs) {
        const [worst, ...others] = [['CPU', waits.cpu_some_secs], ['memory', waits.memory_some_secs], ['I/O', waits.io_some_secs]]
            .filter(row => given(row[1])).sort((a, b) => b[1] - a[1]).map(([what, secs]) => [what, num(min(100, secs * 100 / S.wall_secs))])
        tile('Pressure', worst && [worst[1], '% of time'], null, worst && 'waiting for ' + worst[0],
            others.map(([what, share]) => what + ' ' + share + ' %').join(', '))
    }
    if (cost) tile('Cost of tracking', given(cost.cpu_pct) && [num(cost.cpu_pct), '% of a core'], null,
        duration(cost.cpu_secs) + ' of CPU time', around('', ofMib(cost.rss_peak_mib), ' of memory'))
    const parts = tiles.children.length
    tiles.style.setProperty('--n', parts > 6 ? ceil(parts / 2) : parts)
    page.append(tiles)
}
function copy(words, knob) {
    const label = text => knob.textContent = text
    const done = () => (label('Copied'), setTimeout(label, 1500, 'Copy'))
    const byHand = () => {
        const field = el('textarea', '', words)
        document.body.append(field)
        field.select()
        if (document.execCommand('copy')) done()
        field.remove()
        knob.focus()
    }
    if (navigator.clipboard) navigator.clipboard.writeText(words).then(done, byHand)
    else byHand()
}
function advise() {
    const advice = S.sizing || {}
    const sizes = [['vCPUs', 'vcpus'], ['Memory', 'memory'], ['GPUs', 'gpus'], ['VRAM per GPU', 'vram']].map(([label, what]) => {
        const reason = advice[what + '_reason'], known = given(advice[what]) ? String(advice[what]) : ofMib(advice[what + '_mib'])
        return (known || reason) && div('', div('label', label), div('big', known || 'withheld'), div('dim', reason))
    })
    const ready = ['Slurm', 'Kubernetes', 'Docker', 'Metaflow'].map(label => {
        const words = advice[label.toLowerCase()]
        return words && div('', el('span', 'dim', label), el('code', '', words),
            set(press('copy', ['Copy'], knob => copy(words, knob)), {'aria-label': 'Copy the line for ' + label}))
    })
    if (S.sizing) chapter('What to ask for next time', '', div('card', div('size', ...sizes), ready.some(given) && div('ready', ...ready)))
}

// Charts. Times are the ends of the points, in seconds. All plots share the view (what is shown) and at (the cross).
const times = []
input.ms.reduce((before, ms) => (times.push((before + ms) / 1000), before + ms), 0)
const last = times.length - 1, end = times[last] || 1, isCoarse = input.charts.some(chart => chart.lines.some(line => line.low))
const begins = i => i ? times[i - 1] : 0, breaks = input.breaks
let view = [0, end], at = null, drag = null, plots = [], colour = {}, frame, isStale
const HUES = {
    'tree PSS': 3, cgroup: 4, 'tree write': 2, 'host read': 5, 'host write': 6, 'host received': 1,
    'host sent': 2, 'CPU some': 1, 'memory some': 2, 'memory full': 4, 'I/O some': 3,
}
const LEFT = 42, RIGHT = 10, TOP = 8, BOTTOM = 22
function nearest(t) {
    const later = times.findIndex(time => time >= t), i = later < 0 ? last : later
    return i && t - times[i - 1] < times[i] - t ? i - 1 : i
}
// The lowest step of 1, 2, 5 (of time: of the ladder) that divides the span into no more parts.
function steps(span, parts, ladder) {
    const raw = span / parts, ten = 10 ** floor(Math.log10(raw))
    return (ladder || []).find(step => step >= raw) || ten * [1, 2, 5, 10].find(step => step * ten >= raw * .999)
}
const LADDER = [.1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400]

// A plot: one canvas that is drawn anew for another view or size, and one above it for what follows the pointer.
function makePlot(label, tall) {
    const plot = {base: el('canvas'), over: el('canvas'), tip: div('tip')}
    plot.box = set(div('plot', plot.base, plot.over, plot.tip), {tabindex: 0, role: 'application', 'aria-label': label +
        ' over time. Arrow keys move the cross, plus and minus zoom, 0 shows all.'})
    if (tall) plot.box.style.flexBasis = tall + 'px'
    plot.x = t => LEFT + (t - view[0]) / (view[1] - view[0]) * (plot.w - LEFT - RIGHT)
    plot.t = x => view[0] + (x - LEFT) / (plot.w - LEFT - RIGHT) * (view[1] - view[0])
    listen(plot)
    plots.push(plot)
    return plot
}
function context(plot, canvas) {
    const ratio = devicePixelRatio, c = canvas.getContext('2d')
    set(canvas, {width: plot.w * ratio, height: plot.h * ratio})
    c.scale(ratio, ratio)
    c.font = '11.5px system-ui, sans-serif'
    return c
}
function timeAxis(plot, c) {
    const step = steps(view[1] - view[0], (plot.w - LEFT) / 90, LADDER)
    for (let t = ceil(view[0] / step - 1e-6) * step; t <= view[1] * 1.000001; t += step) {
        const x = plot.x(t), words = clock(t, step)
        c.fillStyle = colour.grid
        c.fillRect(round(x), TOP, 1, plot.tall)
        c.fillStyle = colour.dim
        c.textAlign = x + c.measureText(words).width / 2 > plot.w ? 'right' : 'center'
        c.fillText(words, min(x, plot.w), plot.h - 5)
    }
    c.textAlign = 'right'
    c.textBaseline = 'middle'
}

// The pieces of a line without holes, as first and last point.
function pieces(line, from, to) {
    const found = []
    let start = -1
    for (let i = from; i <= to + 1; i++) {
        const isThere = i <= to && line.mean[i] !== null
        if (start >= 0 && (!isThere || breaks.includes(i))) found.push([start, i - 1]), start = -1
        if (isThere && start < 0) start = i
    }
    return found
}
const highest = (lines, from = 0, to = last) => max(0, ...lines.map(line => max(...(line.high || line.mean).slice(from, to + 1))))
function trace(c, spots) {
    c.beginPath()
    for (const spot of spots) c.lineTo(...spot)
}
function drawLine(chart, c, line, from, to) {
    const {x} = chart.area
    c.strokeStyle = colour['c' + line.hue]
    c.fillStyle = c.strokeStyle + '2e'
    for (const [a, b] of pieces(line, from, to)) {
        // The first value of a run holds since its start; one behind a hole begins as a dot.
        const left = !a || breaks.includes(a) ? x(begins(a)) : x(times[a]) - 3, ends = [left, ...times.slice(a, b + 1).map(x)]
        const spots = values => ends.map((place, i) => [place, chart.y(values[a + max(0, i - 1)] * chart.one)])
        trace(c, spots(line.mean))
        c.stroke()
        if (!line.low) continue
        trace(c, [...spots(line.high), ...spots(line.low).reverse()])
        c.fill()
    }
}
function drawChart(chart) {
    const plot = chart.area, c = context(plot, plot.base), bound = chart.cap, ground = plot.h - BOTTOM
    const from = max(0, nearest(view[0]) - 1), to = min(last, nearest(view[1]) + 1)
    const on = chart.lines.filter(line => line.on), width = plot.w - LEFT - RIGHT
    const most = max(highest(on, from, to) * chart.one, bound && bound.on ? bound.top : 0) || 1
    const [by, unit] = unitFor(chart.sort, most), step = steps(most / by, 4), top = ceil(most / by / step - 1e-9) * step
    chart.y = v => ground - v / by / top * (ground - TOP)
    chart.scale.textContent = ' ' + unit
    timeAxis(plot, c)
    for (let i = 0; i * step <= top * 1.001; i++) {
        const y = round(chart.y(i * step * by))
        c.fillStyle = i ? colour.grid : colour.edge
        c.fillRect(LEFT, y, width, 1)
        c.fillStyle = colour.dim
        c.fillText(+(i * step).toFixed(4), LEFT - 8, y)
    }
    c.beginPath()
    c.rect(LEFT, 0, width, ground + 2)
    c.clip()
    if (bound && bound.on) {
        c.strokeStyle = colour.dim
        c.setLineDash([6, 5])
        trace(c, [[LEFT, chart.y(bound.top)], [plot.w, chart.y(bound.top)]])
        c.stroke()
    }
    for (const line of on.reverse()) {
        c.lineWidth = line.tree ? 1.75 : 1.25
        c.setLineDash(line.isDashed ? [4, 3] : [])
        drawLine(chart, c, line, from, to)
    }
}
function moment() {
    const words = clock(times[at], end < 600 ? .1 : 1)
    return div('dim', given(S.started_ms) && !breaks.length ? words + ' · ' + utc(S.started_ms + times[at] * 1000).slice(11, 19) : words)
}
function chartTip(chart, c, x) {
    return [moment(), ...chart.lines.filter(line => line.on).map(line => {
        const middle = line.mean[at], dot = el('i'), words = v => text(chart.sort, v * chart.one)
        dot.style.background = c.fillStyle = colour['c' + line.hue]
        if (middle === null) return div('', dot, line.name + ' –')
        c.beginPath()
        c.arc(x, chart.y(middle * chart.one), 4, 0, 7)
        c.fill()
        return div('', dot, line.name + ' ', el('b', '', words(middle)),
            line.low && words(line.low[at]) !== words(line.high[at]) && small(' ' + words(line.low[at]) + ' – ' + words(line.high[at])))
    })]
}
function entry(item, tint, words) {
    const mark = el('i', item.isDashed ? 'dash' : '')
    mark.style.borderColor = 'var(--' + tint + ')'
    const show = knob => set(knob, {'aria-pressed': item.on})
    return show(press('', [mark, words], knob => (item.on = !item.on, show(knob), ask())))
}
function makeChart({title: label, unit, one, lines, limit: most, limit_name: word}) {
    const kind = KINDS[unit], chart = {sort: kind, one, lines, scale: small(), area: makePlot(label)}
    const tree = highest(lines.filter(line => line.tree)), everything = highest(lines)
    for (const line of lines) {
        line.hue = HUES[line.name] || (line.tree ? 1 : 0)
        line.isDashed = line.name.endsWith('full')
        // What others did on a much larger machine would press the lines of the job flat: one click brings it back.
        line.on = line.tree || !tree || everything < 12 * tree
    }
    const legend = div('legend', ...lines.map(line => entry(line, 'c' + line.hue, line.name)))
    if (most) {
        chart.cap = {top: most, isDashed: true, on: most < 2.5 * highest(lines.filter(line => line.on)) * one}
        legend.append(entry(chart.cap, 'dim', word + ' ' + text(kind, most)))
    }
    chart.area.draw = () => drawChart(chart)
    chart.area.tooltip = (c, x) => chartTip(chart, c, x)
    return el('figure', 'card', el('figcaption', '', el('h3', '', label, chart.scale), legend), chart.area.box)
}

// Heat map: one pixel per CPU and column in a canvas of its own, which is then stretched.
const rows = input.heat.cpus, every = input.heat.points
const busy = letter => letter === '-' ? null : (letter.charCodeAt() - 65 - (letter > 'Z' ? 6 : 0)) * 2
function heatImage() {
    const canvas = set(el('canvas'), {width: rows[0].length, height: rows.length}), c = canvas.getContext('2d')
    const image = c.createImageData(canvas.width, canvas.height)
    const stops = ['h0', 'h1', 'h2'].map(stop => [1, 3, 5].map(i => parseInt(colour[stop].slice(i, i + 2), 16)))
    let p = 0
    for (const row of rows) for (const letter of row) {
        const v = busy(letter), half = v > 50 ? 1 : 0
        for (let k = 0; k < 3; k++) image.data[p++] = stops[half][k] + (stops[half + 1][k] - stops[half][k]) * (v / 50 - half)
        image.data[p++] = v === null ? 0 : 255
    }
    c.putImageData(image, 0, 0)
    return canvas
}
function drawHeat(plot) {
    const c = context(plot, plot.base), image = heatImage(), rim = plot.w - RIGHT
    timeAxis(plot, c)
    c.imageSmoothingEnabled = false
    for (let i = 0; i < image.width; i++) {
        const from = i * every, to = min(last, from + every - 1)
        const a = max(LEFT, floor(plot.x(begins(from)))), b = min(rim, floor(plot.x(times[to])))
        if (b >= LEFT && a < rim) c.drawImage(image, i, 0, 1, image.height, a, TOP, max(1, b - a), plot.tall)
    }
    for (let n = 0; n < rows.length; n += max(1, steps(rows.length, plot.tall / 16)))
        c.fillText(n, LEFT - 8, TOP + (n + .5) * plot.tall / rows.length)
}
function heatTip(plot, c) {
    const now = rows.map(row => busy(row[at / every | 0])), known = now.filter(given)
    const core = plot.cpu, tall = plot.tall / rows.length
    c.strokeStyle = colour.ink
    if (core >= 0) c.strokeRect(LEFT, TOP + core * tall, plot.w - LEFT - RIGHT, tall)
    return [moment(), core >= 0 && div('', 'CPU ' + core + ' ', el('b', '', given(now[core]) ? now[core] + ' %' : '–')),
        div('dim', known.filter(v => v >= 50).length + ' of ' + known.length + ' CPUs busy')].filter(given)
}
function makeHeat() {
    if (!rows.length) return null
    const plot = makePlot('Every CPU', max(96, min(rows.length * 14, 360)) + TOP + BOTTOM)
    plot.isHeat = true
    plot.draw = () => drawHeat(plot)
    plot.tooltip = c => heatTip(plot, c)
    return el('figure', 'card heat', el('figcaption', '', el('h3', '', 'Every CPU', small(' of the host')),
        div('ramp dim', '0 %', el('i'), '100 %')), plot.box)
}
function cross(plot) {
    const c = context(plot, plot.over), x = at === null ? -1 : plot.x(times[at]), note = plot.tip, isRight = x > plot.w / 2
    c.fillStyle = colour.c1 + '26'
    if (drag && drag.b) c.fillRect(plot.x(drag.a), TOP, plot.x(drag.b) - plot.x(drag.a), plot.tall)
    note.hidden = x < LEFT - 1 || x > plot.w - RIGHT + 1
    if (note.hidden) return
    c.fillStyle = colour.dim
    c.fillRect(round(x), TOP, 1, plot.tall)
    note.replaceChildren(...plot.tooltip(c, x))
    Object.assign(note.style, isRight ? {left: 'auto', right: plot.w - x + 12 + 'px'} : {left: x + 12 + 'px', right: 'auto'})
}
function ask(isLight) {
    isStale = isStale || !isLight
    frame = frame || requestAnimationFrame(() => {
        const all = isStale, style = getComputedStyle(document.documentElement)
        frame = isStale = 0
        for (const tint of 'ink dim grid edge c0 c1 c2 c3 c4 c5 c6 h0 h1 h2'.split(' '))
            colour[tint] = style.getPropertyValue('--' + tint).trim()
        for (const plot of plots) {
            if (all) {
                plot.w = plot.box.clientWidth
                plot.h = plot.box.clientHeight
                plot.tall = plot.h - TOP - BOTTOM
                plot.box.dataset.span = view
                plot.draw()
            }
            cross(plot)
        }
    })
}
const zoom = div('zoom'), zoomed = el('span')
function showSpan(from, to) {
    const least = end / max(1, last) * 2, middle = (from + to) / 2, half = max(to - from, least) / 2
    view = [max(0, min(middle - half, end - least)), min(end, max(middle + half, least))]
    zoom.hidden = view[0] <= 0 && view[1] >= end
    zoomed.textContent = duration(view[0]) + ' to ' + duration(view[1])
    ask()
}
const reset = () => showSpan(0, end)
function narrow(by) {
    const middle = at === null ? (view[0] + view[1]) / 2 : times[at]
    showSpan(middle - (middle - view[0]) * by, middle + (view[1] - middle) * by)
}
function listen(plot) {
    const fingers = new Map(), on = (kind, act) => plot.box.addEventListener(kind, act)
    const follow = event => {
        const place = plot.box.getBoundingClientRect(), x = max(LEFT, min(event.clientX - place.left, plot.w - RIGHT))
        const core = floor((event.clientY - place.top - TOP) / plot.tall * rows.length)
        plot.cpu = core < rows.length ? core : -1
        at = nearest(plot.t(x))
        ask(true)
        return {x, t: plot.t(x)}
    }
    on('pointerdown', event => {
        const spot = follow(event)
        if (event.pointerType === 'touch') fingers.set(event.pointerId, spot)
        else if (!event.button) {
            drag = {a: spot.t, x: spot.x}
            plot.box.setPointerCapture(event.pointerId)
        }
    })
    on('pointermove', event => {
        const spot = follow(event), finger = fingers.get(event.pointerId), [a, b] = fingers.values()
        if (finger) finger.x = spot.x
        if (drag && Math.abs(spot.x - drag.x) > 5) drag.b = spot.t
        // Two fingers: what was below them stays below them.
        const slope = b && (b.t - a.t) / (b.x - a.x)
        if (slope > 0 && slope < Infinity) showSpan(a.t - (a.x - LEFT) * slope, a.t + (plot.w - RIGHT - a.x) * slope)
    })
    const stop = event => {
        const {a, b} = drag || {}
        fingers.delete(event.pointerId)
        drag = null
        if (b && event.type === 'pointerup') showSpan(min(a, b), max(a, b))
        ask(true)
    }
    on('pointerup', stop)
    on('pointercancel', stop)
    const leave = () => (at = null, plot.cpu = -1, ask(true))
    on('pointerleave', event => event.pointerType === 'mouse' && !drag && leave())
    on('dblclick', reset)
    on('blur', leave)
    on('keydown', event => {
        const pressed = event.key, jump = event.shiftKey ? 10 : 1, from = nearest(view[0]), to = nearest(view[1])
        if (event.ctrlKey || event.metaKey || event.altKey) return
        if (pressed === 'ArrowLeft') at = at === null ? to : max(from, at - jump)
        else if (pressed === 'ArrowRight') at = at === null ? from : min(to, at + jump)
        else if (pressed === 'ArrowUp' && plot.isHeat) plot.cpu = max(0, plot.cpu - 1)
        else if (pressed === 'ArrowDown' && plot.isHeat) plot.cpu = min(rows.length - 1, (given(plot.cpu) ? plot.cpu : -1) + 1)
        else if (pressed === '+' || pressed === '=') narrow(.5)
        else if (pressed === '-') narrow(2)
        else if (pressed === '0') reset()
        else return
        event.preventDefault()
        ask(true)
        requestAnimationFrame(() => say.textContent = plot.tip.hidden ? '' : [...plot.tip.children].map(row => row.textContent).join(', '))
    })
}
function charts() {
    if (last < 0) return
    chapter('Over time', 'drag to zoom, double-click to see all' + (isCoarse ? '; bands: lowest to highest sample' : ''),
        div('charts', ...input.charts.map(makeChart), makeHeat()))
    zoom.append(zoomed, press('', ['Show all'], reset))
    document.body.append(zoom)
    document.addEventListener('keydown', event => event.key === 'Escape' && reset())
    new ResizeObserver(() => ask()).observe(page)
    for (const query of ['(prefers-color-scheme: dark)', 'print']) matchMedia(query).addEventListener('change', () => ask())
    reset()
}
function tables() {
    const {processes, processes_at_secs} = S.memory || {}, notes = S.notes || []
    const cells = (tag, words) => el('tr', '', ...words.map(word => el(tag, '', word || '–')))
    if (processes && processes.length) chapter('Largest processes at the memory peak',
        given(processes_at_secs) && 'after ' + duration(processes_at_secs),
        div('card wide', el('table', '', cells('th', ['PID', 'Name', 'RSS', 'CPU time']),
            ...processes.map(one => cells('td', [one.pid, one.name, ofMib(one.rss_mib), duration(one.cpu_secs)])))))
    if (notes.length) chapter('Notes', '', el('ul', 'card notes', ...notes.map(note => el('li', '', note))))
    page.append(el('footer', '', 'Made by resource-tracker ' + (S['resource-tracker-version'] || '') +
        ' · one file that loads nothing and opens offline'))
}
for (const part of [header, overview, advise, charts, tables]) part()
})()
