// SPDX-License-Identifier: Apache-2.0
// How the charts are drawn. Every run has its own clock: ends are the ends of its points, in seconds since its start.
// Several runs are drawn over each other: then a colour is a run and a dash is a line, else a colour is a line.
// All plots share the view (what is shown) and at (the cross: a point of the longest run).
let count = 0
for (const run of input.runs) {
    let secs = 0
    run.from = count
    run.ends = input.ms.slice(count, count += run.points).map(ms => secs += ms / 1000)
    run.end = secs
    run.on = true
}
const runs = input.runs, isOverlay = runs.length > 1, end = max(...runs.map(run => run.end)), started = input.summary.started_ms
const lead = runs.find(run => run.end === end)
runs.forEach((run, i) => run.hue = 1 + i % 6)
// Phases: bands behind the charts. Runs that are drawn over each other have none.
const phases = (input.summary.phases || []).map((phase, i) => ({name: phase.name, hue: 1 + i % 6, on: true,
    spans: isOverlay ? [] : input.spans.filter(span => span[0] === i)})).filter(phase => phase.spans.length)
let view = [0, end], at = null, drag = null, plots = [], colour = {}, frame, isStale, fixed = 0, left = 42
const RIGHT = 10, TOP = 8, BOTTOM = 22
// The first point that ends at or after t, or the last one.
function pointAt(run, t) {
    let a = 0, b = run.points - 1
    while (a < b) {
        const middle = a + b >> 1
        if (run.ends[middle] < t - 1e-6) a = middle + 1
        else b = middle
    }
    return a
}
const begins = (run, i) => i ? run.ends[i - 1] : 0
function nearest(t) {
    const i = pointAt(lead, t)
    return i && t - lead.ends[i - 1] < lead.ends[i] - t ? i - 1 : i
}
// The lowest step of 1, 2, 5 (of time: of the ladder) that divides the span into no more parts.
function steps(span, parts, ladder) {
    const raw = span / parts, ten = 10 ** floor(Math.log10(raw))
    return (ladder || []).find(step => step >= raw) || ten * [1, 2, 5, 10].find(step => step * ten >= raw * .999)
}
const LADDER = [.1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400]

// A plot: one canvas that is drawn anew for another view or size, and one above it for what follows the pointer.
function makePlot(label, tall) {
    const plot = {base: el('canvas'), over: el('canvas'), tip: div('tip'), flex: tall}
    plot.box = set(div('plot', plot.base, plot.over, plot.tip), {tabindex: 0, role: 'application', 'aria-label': label +
        ' over time. Arrow keys move the cross, plus and minus zoom, 0 shows all.'})
    if (tall) plot.box.style.flexBasis = tall + 'px'
    plot.x = t => left + (t - view[0]) / (view[1] - view[0]) * (plot.w - left - RIGHT)
    plot.t = x => view[0] + (x - left) / (plot.w - left - RIGHT) * (view[1] - view[0])
    listen(plot)
    plots.push(plot)
    return plot
}
function context(plot, canvas) {
    const ratio = fixed ? 2 : devicePixelRatio, c = canvas.getContext('2d')
    set(canvas, {width: plot.w * ratio, height: plot.h * ratio})
    c.scale(ratio, ratio)
    c.font = '11.5px system-ui, sans-serif'
    return c
}
function timeAxis(plot, c) {
    const step = steps(view[1] - view[0], (plot.w - left) / 90, LADDER)
    for (let t = ceil(view[0] / step - 1e-6) * step; t <= view[1] * 1.000001; t += step) {
        const x = plot.x(t), label = clock(t, step)
        c.fillStyle = colour.grid
        c.fillRect(round(x), TOP, 1, plot.tall)
        c.fillStyle = colour.dim
        c.textAlign = x + c.measureText(label).width / 2 > plot.w ? 'right' : 'center'
        c.fillText(label, min(x, plot.w), plot.h - 5)
    }
    c.textAlign = 'right'
    c.textBaseline = 'middle'
}

// First and last point of a run in the view.
const seen = run => [max(0, pointAt(run, view[0]) - 1), min(run.points - 1, pointAt(run, view[1]) + 1)]
function highest(lines, isSeen) {
    let most = 0
    for (const line of lines) for (const run of runs) {
        const values = line.high || line.values, [a, b] = isSeen ? seen(run) : [0, run.points - 1]
        if (run.on) for (let i = a; i <= b; i++) if (values[run.from + i] > most) most = values[run.from + i]
    }
    return most
}
// A value holds from the end of the point before to the end of its own: steps. The pieces have no holes.
function trace(chart, c, run, values, a, b, isBack) {
    let isDown = isBack
    for (let n = a; n <= b; n++) {
        const i = isBack ? a + b - n : n, v = values[run.from + i], y = chart.y(v * chart.one)
        const first = chart.area.x(begins(run, i)), last = chart.area.x(run.ends[i])
        if (v === null) isDown = false
        else {
            if (isDown) c.lineTo(isBack ? last : first, y)
            else c.moveTo(first, y)
            c.lineTo(isBack ? first : last, y)
            isDown = true
        }
    }
}
function pieces(run, values, from, to) {
    const found = []
    let start = -1
    for (let i = from; i <= to + 1; i++) {
        const isThere = i <= to && values[run.from + i] !== null
        if (start >= 0 && !isThere) found.push([start, i - 1]), start = -1
        if (isThere && start < 0) start = i
    }
    return found
}
const hueOf = (line, run) => colour['c' + (isOverlay ? run.hue : line.hue)]
function drawLine(chart, c, line, run) {
    const [from, to] = seen(run)
    c.strokeStyle = hueOf(line, run)
    c.fillStyle = c.strokeStyle + '3a'
    if (line.high) for (const [a, b] of pieces(run, line.high, from, to)) {
        c.beginPath()
        trace(chart, c, run, line.high, a, b)
        // So that a single second is seen in a day.
        c.globalAlpha = .4
        c.stroke()
        c.globalAlpha = 1
        trace(chart, c, run, line.low || line.values, a, b, true)
        c.fill()
    }
    c.beginPath()
    trace(chart, c, run, line.values, from, to)
    c.stroke()
}
// One that no sample has belongs to no part of the run: it is not shown when that is what is looked at.
const isWhole = () => view[0] <= 0 && view[1] >= end
const peakIsOn = ({peak, lines}) => peak && lines[peak.line].on && (!peak.apart || isWhole())
function drawPeak(chart, c) {
    const {line, run, secs, value, apart, text: height} = chart.peak || {line: -1}, plot = chart.area
    if (line < 0 || !peakIsOn(chart) || !apart && (!runs[run].on || secs < view[0] || secs > view[1])) return
    const x = apart ? left : plot.x(secs), y = chart.y(value), label = 'peak ' + height
    c.setLineDash([])
    c.fillStyle = isOverlay && apart ? colour.dim : hueOf(chart.lines[line], runs[run])
    c.beginPath()
    // A peak that no sample has is a line across the chart.
    if (apart) {
        c.strokeStyle = c.fillStyle
        c.lineWidth = 1.5
        c.setLineDash([2, 3])
        c.moveTo(left, y)
        c.lineTo(plot.w - RIGHT, y)
    } else {
        c.strokeStyle = colour.card
        c.lineWidth = 2
        c.arc(x, y, 4.5, 0, 7)
        c.fill()
    }
    c.stroke()
    c.setLineDash([])
    c.strokeStyle = colour.card
    c.font = '600 11.5px system-ui, sans-serif'
    // Above the dot where there is space for it, else beside it, else below; never beyond the drawing.
    const wide = c.measureText(label).width, isHigh = y < TOP + 20, beside = x + wide + 9 > plot.w ? x - wide - 9 : x + 9
    const isBeside = isHigh && beside > 0, at = apart ? left + 6 : isBeside ? beside : max(left, x - wide / 2)
    const start = max(2, min(at, plot.w - wide - 2))
    const place = [label, start, apart ? isHigh ? y + 10 : y - 10 : isBeside ? max(TOP + 6, y) : isHigh ? y + 16 : y - 13, plot.w - start - 2]
    c.textAlign = 'left'
    c.lineWidth = 4
    c.lineJoin = 'round'
    c.fillStyle = colour.ink
    c.strokeText(...place)
    c.fillText(...place)
}
// The scale, and how wide its labels are.
function measure(chart) {
    const bound = chart.cap, c = chart.area.base.getContext('2d'), on = chart.lines.filter(line => line.on)
    const most = max(highest(on, true) * chart.one, peakIsOn(chart) && chart.peak.apart ? chart.peak.value : 0, bound && bound.on ? bound.top : 0) || 1
    const [by, unit] = unitFor(chart.sort, most, 0), step = steps(most / by, 4)
    const labels = [...Array(ceil(most / by / step - 1e-9) + 1)].map((_, i) => String(+(i * step).toPrecision(6)))
    chart.axis = {by, step, labels, top: (labels.length - 1) * step}
    chart.scale.textContent = ' ' + unit
    c.font = '11.5px system-ui, sans-serif'
    return max(...labels.map(label => c.measureText(label).width))
}
function drawChart(chart) {
    const plot = chart.area, c = context(plot, plot.base), bound = chart.cap, ground = plot.h - BOTTOM
    const {by, step, labels, top} = chart.axis, width = plot.w - left - RIGHT
    chart.y = v => ground - v / by / top * (ground - TOP)
    for (const phase of phases) for (const [, from, to] of phase.spans) {
        const a = max(left, plot.x(from)), b = min(plot.w - RIGHT, plot.x(to))
        c.fillStyle = colour['c' + phase.hue] + '1e'
        if (phase.on && b > a) c.fillRect(a, TOP, b - a, ground - TOP)
    }
    timeAxis(plot, c)
    labels.forEach((label, i) => {
        const y = round(chart.y(i * step * by))
        c.fillStyle = i ? colour.grid : colour.edge
        c.fillRect(left, y, width, 1)
        c.fillStyle = colour.dim
        c.fillText(label, left - 8, y)
    })
    c.save()
    c.beginPath()
    c.rect(left, 0, width + 2, ground + 2)
    c.clip()
    if (bound && bound.on) {
        c.strokeStyle = colour.dim
        c.setLineDash([6, 5])
        c.beginPath()
        c.moveTo(left, chart.y(bound.top))
        c.lineTo(plot.w, chart.y(bound.top))
        c.stroke()
    }
    for (const line of chart.lines.filter(line => line.on).reverse()) for (const run of runs) {
        c.lineWidth = line.job ? 1.75 : 1.25
        c.setLineDash(line.dash ? [4, 3] : [])
        if (run.on) drawLine(chart, c, line, run)
    }
    c.restore()
    c.textBaseline = 'middle'
    drawPeak(chart, c)
}
function moment() {
    const secs = lead.ends[at], time = clock(secs, end < 600 ? .1 : 1)
    const names = phases.filter(phase => phase.spans.some(([, from, to]) => secs > from && secs <= to)).map(phase => phase.name)
    return div('dim', [time, ...given(started) && !isOverlay ? [utc(started + secs * 1000)] : [], ...names].join(' · '))
}
function chartTip(chart, c, x) {
    const shown = [moment()], label = v => text(chart.sort, v * chart.one), secs = lead.ends[at]
    for (const run of runs) for (const line of chart.lines) {
        if (!line.on || !run.on || secs > run.end + 1e-6) continue
        const i = run.from + pointAt(run, secs), v = line.values[i], dot = el('i'), name = isOverlay ? run.name + ', ' + line.name : line.name
        dot.style.background = c.fillStyle = hueOf(line, run)
        if (v !== null) {
            c.beginPath()
            c.arc(x, chart.y(v * chart.one), 4, 0, 7)
            c.fill()
        }
        shown.push(v === null ? div('', dot, name + ' –') : div('', dot, name + ' ', el('b', '', label(v)),
            line.high && label(v) !== label(line.high[i]) && small((line.low ? ' ' + label(line.low[i]) + ' –' : ' up to') + ' ' + label(line.high[i]))))
    }
    return shown
}
function entry(item, tint, label) {
    const mark = el('i', item.dash ? 'dash' : '')
    mark.style.borderColor = 'var(--' + tint + ')'
    const show = knob => set(knob, {'aria-pressed': item.on})
    return show(press('', [mark, label], knob => (item.on = !item.on, show(knob), ask())))
}
function makeChart({title: label, about, unit, one, lines, limit: most, limit_name: word, peak}) {
    const kind = KINDS[unit], chart = {sort: kind, one, lines, peak, scale: small(), area: makePlot(label)}
    const beyond = peak && peak.apart ? peak.value / one : 0
    const job = max(highest(lines.filter(line => line.job)), beyond), everything = highest(lines)
    // Over each other: the first line that is not 0 throughout.
    const main = max(0, lines.findIndex(line => highest([line])))
    lines.forEach((line, i) => {
        line.hue = line.hue || (lines.some(other => other.job) || i ? 0 : 1)
        // What others did on a much larger machine would press the lines of the job flat: one click brings it back.
        line.on = isOverlay ? i === main : line.job || !job || everything < 12 * job
        line.dash = isOverlay ? i !== main : line.dash
    })
    const legend = div('legend', ...lines.map(line => entry(line, isOverlay ? 'dim' : 'c' + line.hue, line.name)))
    if (most) {
        chart.cap = {top: most, dash: true, on: most < 2.5 * max(highest(lines.filter(line => line.on)), beyond) * one}
        legend.append(entry(chart.cap, 'dim', word + ' ' + text(kind, most)))
    }
    const plot = chart.area
    plot.measure = () => measure(chart)
    plot.draw = () => drawChart(chart)
    plot.tooltip = (c, x) => chartTip(chart, c, x)
    plot.title = label
    plot.about = about
    plot.legend = () => [...lines, ...chart.cap ? [chart.cap] : []].map((item, i) => item.on &&
        [legend.children[i].textContent, item === chart.cap || isOverlay ? 'dim' : 'c' + item.hue]).filter(given)
    return el('figure', 'card', el('figcaption', '', el('h3', '', label, chart.scale), legend, el('p', 'dim', about)), plot.box)
}

// Heat maps: one pixel per row and column in a canvas of its own, which is then stretched.
const level = (heat, letter) => !letter || letter === '-' ? null : (letter.charCodeAt() - 65 - (letter > 'Z' ? 6 : 0)) * heat.most / 50
function heatImage(heat) {
    const {rows, most} = heat
    const canvas = set(el('canvas'), {width: rows[0].length, height: rows.length}), c = canvas.getContext('2d')
    const image = c.createImageData(canvas.width, canvas.height)
    const stops = ['h0', 'h1', 'h2'].map(stop => [1, 3, 5].map(i => parseInt(colour[stop].slice(i, i + 2), 16)))
    let p = 0
    for (const row of rows) for (const letter of row) {
        const v = level(heat, letter), share = v / most * 2, half = share > 1 ? 1 : 0
        for (let k = 0; k < 3; k++) image.data[p++] = stops[half][k] + (stops[half + 1][k] - stops[half][k]) * (share - half)
        image.data[p++] = v === null ? 0 : 255
    }
    c.putImageData(image, 0, 0)
    return canvas
}
function drawHeat(plot) {
    const c = context(plot, plot.base), {rows, points: every} = plot.heat, image = heatImage(plot.heat), rim = plot.w - RIGHT
    timeAxis(plot, c)
    c.imageSmoothingEnabled = false
    for (let i = 0; i < image.width; i++) {
        const from = i * every, to = min(lead.points - 1, from + every - 1)
        const a = max(left, floor(plot.x(begins(lead, from)))), b = min(rim, floor(plot.x(lead.ends[to])))
        if (b >= left && a < rim) c.drawImage(image, i, 0, 1, image.height, a, TOP, max(1, b - a), plot.tall)
    }
    for (let n = 0; n < rows.length; n += max(1, steps(rows.length, plot.tall / 16)))
        c.fillText(n, left - 8, TOP + (n + .5) * plot.tall / rows.length)
}
function heatTip(plot, c) {
    const {rows, points: every, unit, most, title: label} = plot.heat, now = rows.map(row => level(plot.heat, row[at / every | 0]))
    const known = now.filter(given), row = plot.row, tall = plot.tall / rows.length, word = label.slice(0, 3)
    c.strokeStyle = colour.ink
    if (row >= 0) c.strokeRect(left, TOP + row * tall, plot.w - left - RIGHT, tall)
    return [moment(), row >= 0 && div('', word + ' ' + row + ' ', el('b', '', given(now[row]) ? num(round(now[row])) + '\u00a0' + unit : '–')),
        unit === '%' ? div('dim', known.filter(v => v >= most / 2).length + ' of ' + known.length + ' ' + word + 's busy') :
            div('dim', 'up to ' + num(round(max(0, ...known))) + '\u00a0' + unit)].filter(given)
}
function makeHeat(heat) {
    const plot = makePlot(heat.title, max(heat.rows.length > 2 ? 96 : 48, min(heat.rows.length * 14, 360)) + TOP + BOTTOM)
    plot.heat = heat
    plot.draw = () => drawHeat(plot)
    plot.tooltip = c => heatTip(plot, c)
    plot.title = heat.title
    plot.about = heat.about
    plot.legend = () => [['darker is more, up to ' + heat.most + ' ' + heat.unit, 'h2']]
    return el('figure', 'card heat', el('figcaption', '', el('h3', '', heat.title),
        div('ramp dim', '0', el('i'), heat.most + '\u00a0' + heat.unit), el('p', 'dim', heat.about)), plot.box)
}
