// SPDX-License-Identifier: Apache-2.0
// The processes of a run as bars, each below its parent. A parent stands before its children in the data, so that going
// backwards or forwards through it replaces recursion. Bars that do not overlap share a row.
// The first programs have a colour each; all others share one.
const kinds = (input.summary.programs || []).slice(0, 6).map(({name}, i) => ({name: name || 'others', hue: i + 1, on: true}))
function readProcesses({programs, commands, records}) {
    const others = {hue: 0, on: true}
    return records.split(';').slice(0, -1).map((record, i) => {
        const [pid, parent, start, length, program, cpu, reaped, rss, , , status, command] = record.split(' ').map(v => v === '-' ? null : +v)
        const name = programs[program - 1] || '?', isRoot = pid === input.summary.tracked_pid && !parent
        return {pid, name, cpu, reaped, rss, parent: parent <= i ? parent : 0, from: start / 1000, isOver: length !== null,
            to: length === null ? end : (start + length) / 1000, kind: kinds.find(kind => kind.name === name) || others,
            command: commands[command - 1], status: isRoot && status === null ? input.summary.result.exit_code : status}
    })
}
// Those in the view, as rows of bars.
function layRows(nodes) {
    const top = {kids: [], lane: -1, to: 0}, shown = [], rows = []
    for (const node of nodes) {
        const above = node.parent ? nodes[node.parent - 1] : top
        node.kids = []
        node.isSeen = node.pid > 0 && node.kind.on && node.to >= view[0] && node.from <= view[1]
        node.above = above === top || above.isSeen ? above : above.above
        if (!node.isSeen) continue
        node.above.kids.push(node)
        shown.push(node)
    }
    for (const node of [top, ...shown].reverse()) {
        const free = []
        node.last = node.to
        for (const kid of node.kids.sort((a, b) => a.from - b.from)) {
            let lane = 0
            for (let i = 0; i < kid.tall; i++) if (free[lane + i] > kid.from) lane += i + 1, i = -1
            for (let i = 0; i < kid.tall; i++) free[lane + i] = kid.last
            kid.lane = lane + 1
            node.last = max(node.last, kid.last)
        }
        node.tall = free.length + 1
    }
    for (const node of shown) {
        node.lane += node.above.lane
        rows[node.lane] = rows[node.lane] || []
        rows[node.lane].push(node)
    }
    return rows
}
function drawTimeline(plot, nodes) {
    const c = context(plot, plot.base), rim = plot.w - RIGHT, rows = plot.heat.rows = layRows(nodes), tall = plot.tall / max(rows.length, 1)
    timeAxis(plot, c)
    c.textAlign = 'left'
    rows.forEach((row, i) => row.forEach(node => {
        const a = max(left, plot.x(node.from)), wide = max(1, min(rim, plot.x(node.to)) - a), y = TOP + i * tall
        c.fillStyle = colour['c' + node.kind.hue]
        c.fillRect(a, y, wide, max(.5, tall > 3 ? tall - 1 : tall))
        c.fillStyle = colour.card
        if (tall > 11 && wide > 24) c.fillText(node.name.slice(0, wide / 7), a + 4, y + tall / 2)
    }))
}
function timelineTip(plot) {
    const t = given(plot.spot) ? plot.spot : lead.ends[at], slack = (view[1] - view[0]) / plot.w
    const node = (plot.heat.rows[plot.row] || []).find(one => one.from - slack <= t && t <= one.to + slack)
    if (!node) return [moment()]
    return [div('', el('b', '', node.name), ' ' + node.pid), node.command && div('', node.command),
        div('dim', duration(node.from) + ' to ' + (node.isOver ? duration(node.to) : 'the end')),
        div('', 'CPU time ', el('b', '', duration(node.cpu / 1e4))),
        node.reaped > 0 && div('dim', 'and of children that were not seen ' + duration(node.reaped / 1e4)),
        given(node.rss) && div('', 'Memory ', el('b', '', text(KINDS.bytes, node.rss * 1024))),
        given(node.status) && div('dim', 'exit status ' + node.status)].filter(given)
}
function makeTimeline(nodes) {
    const lanes = layRows(nodes).length, plot = makePlot('Processes', max(48, min(lanes * 16, 480)) + TOP + BOTTOM)
    plot.heat = {rows: []}
    plot.draw = () => drawTimeline(plot, nodes)
    plot.tooltip = () => timelineTip(plot)
    plot.title = 'Processes'
    plot.about = 'Each below its parent, from its start to the first sample that found it gone.'
    plot.legend = () => kinds.map(kind => kind.on && [kind.name, 'c' + kind.hue]).filter(given)
    return el('figure', 'card heat', el('figcaption', '', el('h3', '', plot.title),
        div('legend', ...kinds.map(kind => entry(kind, 'c' + kind.hue, kind.name))), el('p', 'dim', plot.about)), plot.box)
}
