// SPDX-License-Identifier: Apache-2.0
// How the charts are used: redrawing, pointer, fingers and keys, zoom, paper, and a picture of all of them.
function cross(plot) {
    const c = context(plot, plot.over), x = at === null ? -1 : plot.x(lead.ends[at]), note = plot.tip, isRight = x > plot.w / 2
    c.fillStyle = colour.c1 + '26'
    if (drag && drag.b) c.fillRect(plot.x(drag.a), TOP, plot.x(drag.b) - plot.x(drag.a), plot.tall)
    note.hidden = x < left - 1 || x > plot.w - RIGHT + 1
    if (note.hidden) return
    c.fillStyle = colour.dim
    c.fillRect(round(x), TOP, 1, plot.tall)
    note.replaceChildren(...plot.tooltip(c, x))
    Object.assign(note.style, isRight ? {left: 'auto', right: plot.w - x + 12 + 'px'} : {left: x + 12 + 'px', right: 'auto'})
}
function redraw(all) {
    const style = getComputedStyle(root)
    for (const tint of 'ink dim grid edge card c0 c1 c2 c3 c4 c5 c6 h0 h1 h2'.split(' '))
        colour[tint] = style.getPropertyValue('--' + tint).trim()
    if (all) left = max(34, ...plots.map(plot => plot.measure ? ceil(plot.measure()) + 14 : 0))
    for (const plot of plots) {
        if (all) {
            plot.w = fixed ? plot.heat && fixed < 400 ? 2 * fixed + 48 : fixed : plot.box.clientWidth
            plot.h = fixed ? plot.flex || (fixed < 400 ? 150 : 220) : plot.box.clientHeight
            plot.tall = plot.h - TOP - BOTTOM
            plot.box.dataset.span = view
            plot.box.dataset.left = left
            plot.draw()
        }
        cross(plot)
    }
}
function ask(isLight) {
    isStale = isStale || !isLight
    frame = frame || requestAnimationFrame(() => {
        const all = isStale
        frame = isStale = 0
        redraw(all)
    })
}
const zoom = div('zoom'), zoomed = el('span')
function showSpan(from, to) {
    const least = end / max(1, lead.points - 1) * 2, middle = (from + to) / 2, half = max(to - from, least) / 2
    view = [max(0, min(middle - half, end - least)), min(end, max(middle + half, least))]
    zoom.hidden = isWhole()
    zoomed.textContent = duration(view[0]) + ' to ' + duration(view[1])
    ask()
}
const reset = () => showSpan(0, end)
function narrow(by) {
    const middle = at === null ? (view[0] + view[1]) / 2 : lead.ends[at]
    showSpan(middle - (middle - view[0]) * by, middle + (view[1] - middle) * by)
}
function listen(plot) {
    const fingers = new Map(), on = (kind, act) => plot.box.addEventListener(kind, act)
    const follow = event => {
        const place = plot.box.getBoundingClientRect(), x = max(left, min(event.clientX - place.left, plot.w - RIGHT))
        const count = plot.heat ? plot.heat.rows.length : 0, row = floor((event.clientY - place.top - TOP) / plot.tall * count)
        plot.row = row < count ? row : -1
        plot.spot = plot.t(x)
        at = nearest(plot.spot)
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
        if (drag && abs(spot.x - drag.x) > 5) drag.b = spot.t
        // Two fingers: what was below them stays below them.
        const slope = b && (b.t - a.t) / (b.x - a.x)
        if (slope > 0 && slope < Infinity) showSpan(a.t - (a.x - left) * slope, a.t + (plot.w - RIGHT - a.x) * slope)
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
    const leave = () => (at = null, plot.row = -1, ask(true))
    on('pointerleave', event => event.pointerType === 'mouse' && !drag && leave())
    on('dblclick', reset)
    on('blur', leave)
    on('keydown', event => {
        const pressed = event.key, jump = event.shiftKey ? 10 : 1, from = nearest(view[0]), to = nearest(view[1])
        const rows = plot.heat ? plot.heat.rows.length : 0
        if (event.ctrlKey || event.metaKey || event.altKey) return
        plot.spot = null
        if (pressed === 'ArrowLeft') at = at === null ? to : max(from, at - jump)
        else if (pressed === 'ArrowRight') at = at === null ? from : min(to, at + jump)
        else if (pressed === 'ArrowUp' && rows) plot.row = max(0, plot.row - 1)
        else if (pressed === 'ArrowDown' && rows) plot.row = min(rows - 1, (given(plot.row) ? plot.row : -1) + 1)
        else if (pressed === '+' || pressed === '=') narrow(.5)
        else if (pressed === '-') narrow(2)
        else if (pressed === '0') reset()
        else return
        event.preventDefault()
        ask(true)
        requestAnimationFrame(() => say.textContent = plot.tip.hidden ? '' : [...plot.tip.children].map(row => row.textContent).join(', '))
    })
}

// Charts for paper and for the picture are light and have a width of their own; no frame is drawn while a page is printed.
function paper(width) {
    if (fixed === width) return
    fixed = width
    root.classList.toggle('paper', width > 0)
    redraw(true)
}
function picture() {
    const GAP = 74, SIDE = 20, WIDE = 960, kept = at
    at = null
    paper(WIDE)
    const tall = plots.reduce((sum, plot) => sum + plot.h + GAP, 80), canvas = set(el('canvas'), {width: 2 * (WIDE + 2 * SIDE), height: 2 * tall})
    const c = canvas.getContext('2d'), write = (label, x, y, font, tint) => {
        c.font = font + 'px system-ui, sans-serif'
        c.fillStyle = colour[tint]
        c.fillText(label, x, y)
        return x + c.measureText(label).width
    }
    c.scale(2, 2)
    c.fillStyle = colour.card
    c.fillRect(0, 0, canvas.width, canvas.height)
    write(document.title, SIDE, 34, '600 20', 'ink')
    write((document.querySelector('.verdict') || {}).textContent || '', SIDE, 58, '14', 'ink')
    let y = 80, next = SIDE
    for (const phase of phases) {
        c.fillStyle = colour['c' + phase.hue]
        c.fillRect(next, y - 5, 14, 3)
        next = write(phase.name, next + 20, y, '12', 'ink') + 16
    }
    for (const plot of plots) {
        let x = write(plot.title, SIDE, y + 22, '600 15', 'ink')
        write(plot.about, x + 14, y + 22, '12', 'dim')
        x = SIDE
        for (const [label, tint] of isOverlay && !plot.heat ? runs.map(run => [run.name, 'c' + run.hue]) : plot.legend()) {
            c.fillStyle = colour[tint]
            c.fillRect(x, y + 37, 14, 3)
            x = write(label, x + 20, y + 42, '12', 'ink') + 16
        }
        c.drawImage(plot.base, SIDE, y + 52, plot.w, plot.h)
        y += plot.h + GAP
    }
    at = kept
    paper(0)
    canvas.toBlob(blob => {
        const link = set(el('a'), {href: URL.createObjectURL(blob), download: 'resources.png'})
        link.click()
        setTimeout(() => URL.revokeObjectURL(link.href), 10000)
    })
}
function start() {
    const isTouch = matchMedia('(pointer: coarse)').matches
    byId('picture').remove()
    over.append(div('bar', el('p', 'dim hint', isTouch ? 'Touch a chart for its values, pinch to zoom.' : 'Drag to zoom, double-click to see all.'),
        press('copy', ['Save as PNG'], picture)))
    if (input.resolution) over.append(el('p', 'dim', input.resolution))
    if (isOverlay) over.append(div('legend', ...runs.map(run => entry(run, 'c' + run.hue, run.name))))
    if (phases.length) over.append(div('legend', small('Phases'), ...phases.map(phase => entry(phase, 'c' + phase.hue, phase.name))))
    const nodes = input.history ? readProcesses(input.history) : []
    over.append(div('charts', ...input.charts.map(makeChart), ...input.heats.map(makeHeat), ...nodes.length > 1 ? [makeTimeline(nodes)] : []))
    zoom.append(zoomed, press('', ['Show all'], reset))
    document.body.append(zoom)
    document.addEventListener('keydown', event => event.key === 'Escape' && reset())
    new ResizeObserver(() => ask()).observe(byId('page'))
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => ask())
    matchMedia('print').addEventListener('change', event => paper(event.matches ? 318 : 0))
    addEventListener('beforeprint', () => paper(318))
    addEventListener('afterprint', () => paper(0))
    reset()
}
if (byId('picture')) start()
