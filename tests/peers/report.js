// SPDX-License-Identifier: Apache-2.0
// Opens a report in a browser and uses it like a reader: node report.js CHROMIUM PAGE WIDTH light|dark [touch|off|forbidden]
// off: scripts are switched off; forbidden: the page is served with a policy that forbids scripts and styles.
// Prints what was found as one JSON object; whether it is right is decided by tests/e2e/test_report.py.
const path = require('path')
const { pathToFileURL } = require('url')
const { chromium } = require('playwright-core')

const fs = require('fs')
const [browserPath, file, width, colorScheme, mode] = process.argv.slice(2)
const url = mode === 'forbidden' ? 'http://report.test/' : pathToFileURL(path.resolve(file)).href

// After the page has drawn what it was asked for.
const settled = page => page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done()))))
const tips = page => page.$$eval('.plot', all => all.map(plot => {
  const tip = plot.querySelector('.tip')
  return tip.hidden ? null : tip.textContent
}))
const spans = page => page.$$eval('.plot', all => all.map(plot => plot.dataset.span.split(',').map(Number)))
const picture = (page, figure) => page.$eval(`figure:nth-of-type(${figure}) canvas`, canvas => canvas.toDataURL())
// Which part of the pixels of a canvas shows anything.
const inked = page => page.$$eval('.plot canvas:first-child', all => all.map(canvas => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  let count = 0
  for (let i = 3; i < data.length; i += 4) count += data[i] > 0
  return count * 4 / data.length
}))

// Where the line of that number in the legend of a chart is drawn: [from, to] in shares of the width, for every piece.
const drawn = (page, figure, line) => page.$$eval('figure', (all, [figure, line]) => {
  if (!all[figure] || !all[figure].querySelectorAll('.legend i')[line]) return null
  const canvas = all[figure].querySelector('canvas'), { width, height } = canvas, ratio = devicePixelRatio
  const colour = getComputedStyle(all[figure].querySelectorAll('.legend i')[line]).borderTopColor.match(/\d+/g).map(Number)
  // A copy, because the browser complains about a canvas that is read twice.
  const copy = Object.assign(document.createElement('canvas'), { width, height }).getContext('2d')
  copy.drawImage(canvas, 0, 0)
  const { data } = copy.getImageData(0, 0, width, height), left = Number(all[figure].querySelector('.plot').dataset.left) * ratio, right = width - 10 * ratio
  const has = x => {
    for (let y = 0; y < height; y++) {
      const at = (y * width + x) * 4
      if (data[at + 3] > 150 && colour.every((part, i) => Math.abs(part - data[at + i]) < 40)) return true
    }
    return false
  }
  const found = []
  for (let x = Math.floor(left), before = false; x < right; x++) {
    const now = has(x), share = (x - left) / (right - left)
    if (now && !before) found.push([share, share])
    if (now) found[found.length - 1][1] = share
    before = now
  }
  return found
}, [figure, line])

async function watch(page, found) {
  page.on('console', message => found.console.push(message.text()))
  page.on('pageerror', error => found.console.push(String(error)))
  page.on('request', request => found.requests.push(request.url()))
  page.on('dialog', dialog => {
    found.dialogs.push(dialog.message())
    dialog.dismiss()
  })
}

async function open(page, found) {
  await page.goto(url)
  await settled(page)
  found.openMs = await page.evaluate(() => performance.now())
  found.isOwnFileOnly = found.requests.every(request => request === url || request === 'data:,')
  Object.assign(found, await page.evaluate(() => ({
    title: document.title,
    verdict: (document.querySelector('.verdict') || {}).textContent,
    abouts: [...document.querySelectorAll('figcaption p')].map(e => e.textContent),
    hint: (document.querySelector('.hint') || {}).textContent,
    copies: document.querySelectorAll('.copy').length,
    scopeless: document.querySelectorAll('th:not([scope])').length,
    svgs: document.querySelectorAll('svg').length,
    runs: [...document.querySelectorAll('#over > .legend button')].map(e => e.textContent),
    lineColours: [...document.querySelectorAll('.legend i')].map(e => getComputedStyle(e).borderTopColor),
    cardColour: getComputedStyle(document.querySelector('.card')).backgroundColor,
    heading: document.querySelector('h1').textContent,
    text: document.body.innerText,
    figures: [...document.querySelectorAll('figure h3')].map(e => e.firstChild.textContent),
    legends: [...document.querySelectorAll('.legend')].map(e => [...e.children].map(button => button.textContent)),
    elements: ['img', 'iframe', 'link[rel=stylesheet]', 'script[src]', '[onclick],[onerror],[onload]']
      .map(what => document.querySelectorAll(what).length),
    scripts: document.scripts.length,
    background: getComputedStyle(document.body).backgroundColor,
    command: (document.querySelector('.command') || {}).textContent,
    tiles: [...document.querySelectorAll('.tiles .card')].map(e => e.innerText),
    wrapped: [...document.querySelectorAll('.tiles .big')].filter(e => e.offsetHeight > 48).map(e => e.textContent),
    wide: document.documentElement.scrollWidth - innerWidth,
  })))
  found.inked = await inked(page)
  found.secondOfMemory = await drawn(page, 1, 1)
  found.firstOfMemory = await drawn(page, 1, 0)
}

// What there is without scripts. The browser's own tools may still look into the page.
async function read(page, found) {
  await page.goto(url)
  Object.assign(found, {
    text: await page.locator('body').innerText(),
    cells: await page.locator('td').allInnerTexts(),
    pictures: await page.locator('svg path').count(),
    heads: await page.locator('th[scope]').count(),
  })
}

async function boxOf(page, number) {
  const plot = (await page.$$('.plot'))[number]
  await plot.scrollIntoViewIfNeeded()
  return plot.boundingBox()
}

async function useMouse(page, found) {
  let box = await boxOf(page, 0)
  const left = Number(await page.$eval('.plot', e => e.dataset.left))
  const at = (share, y = 0.5) => [box.x + left + (box.width - left - 10) * share, box.y + box.height * y]
  await page.mouse.move(...at(0.5))
  await settled(page)
  found.hover = await tips(page)
  await page.mouse.move(box.x + 5, box.y - 40)
  await settled(page)
  found.left = await tips(page)
  found.all = await spans(page)
  await page.mouse.move(...at(0.25))
  await page.mouse.down()
  await page.mouse.move(...at(0.4))
  await page.mouse.move(...at(0.5))
  await page.mouse.up()
  await settled(page)
  found.zoomed = await spans(page)
  found.zoomText = await page.$eval('.zoom', e => e.hidden ? null : e.textContent)
  await page.mouse.dblclick(...at(0.5))
  await settled(page)
  found.reset = await spans(page)
  const plots = await page.$$('.plot')
  box = await boxOf(page, plots.length - 1)
  await page.mouse.move(box.x + box.width / 2, box.y + 8 + 2)
  await settled(page)
  found.heat = (await tips(page)).pop()
}

async function useKeys(page, found) {
  await (await page.$$('.plot'))[0].focus()
  await page.keyboard.press('ArrowRight')
  await settled(page)
  found.keyFirst = (await tips(page))[0]
  await page.keyboard.press('ArrowRight')
  await settled(page)
  found.keySecond = (await tips(page))[0]
  await settled(page)
  found.said = await page.$eval('#say', e => e.textContent)
  await page.keyboard.press('+')
  await settled(page)
  found.keyZoomed = await spans(page)
  await page.keyboard.press('-')
  await page.keyboard.press('+')
  await page.keyboard.press('Escape')
  await settled(page)
  found.keyReset = await spans(page)
}

async function useButtons(page, found) {
  const before = await picture(page, 1)
  const button = await page.$('.legend button')
  await button.click()
  await settled(page)
  found.pressed = [await button.getAttribute('aria-pressed')]
  found.hides = before !== await picture(page, 1)
  await button.click()
  await settled(page)
  found.pressed.push(await button.getAttribute('aria-pressed'))
  found.showsAgain = before === await picture(page, 1)
  const [saved] = await Promise.all([page.waitForEvent('download'), page.click('text=Save as PNG')])
  const png = fs.readFileSync(await saved.path())
  found.png = [saved.suggestedFilename(), png.subarray(1, 4).toString(), png.readUInt32BE(16), png.readUInt32BE(20)]
  await settled(page)
  found.sameAfterPng = before === await picture(page, 1)
  const copy = await page.$('.ready .copy')
  if (!copy) return
  await copy.click()
  await page.waitForFunction(e => e.textContent === 'Copied', copy)
  const line = await page.$eval('.ready code', e => e.textContent)
  found.copied = [line, await page.evaluate(() => navigator.clipboard.readText())]
}

// Pinching with two fingers that move apart, through the protocol of the browser.
async function useFingers(page, found) {
  const client = await page.context().newCDPSession(page)
  const box = await boxOf(page, 0), y = box.y + box.height / 2
  const fingers = (type, ...xs) => client.send('Input.dispatchTouchEvent', { type, touchPoints: xs.map((x, id) => ({ x: box.x + x, y, id })) })
  await fingers('touchStart', box.width * 0.5)
  await settled(page)
  found.touched = (await tips(page))[0]
  await fingers('touchEnd')
  await fingers('touchStart', box.width * 0.45, box.width * 0.55)
  for (const apart of [0.1, 0.2, 0.3]) await fingers('touchMove', box.width * (0.45 - apart), box.width * (0.55 + apart))
  await fingers('touchEnd')
  await settled(page)
  found.pinched = await spans(page)
}

// On paper, from a dark screen too: light, with its own drawing, which is taken back afterwards.
async function usePaper(page, found) {
  const before = found.figures.length ? await picture(page, 1) : null
  await page.emulateMedia({ media: 'print' })
  await settled(page)
  found.printed = await page.evaluate(() => ({
    backgrounds: ['body', '.card'].map(what => getComputedStyle(document.querySelector(what)).backgroundColor),
    buttons: [...document.querySelectorAll('.copy, .zoom, .hint')].filter(e => e.offsetParent).length,
    adjust: getComputedStyle(document.body).printColorAdjust,
  }))
  if (found.figures.length) {
    found.paper = await page.evaluate(() => {
      const dark = [], canvas = document.querySelector('canvas')
      for (const plot of document.querySelectorAll('.heat canvas:first-child')) {
        const copy = Object.assign(document.createElement('canvas'), { width: plot.width, height: plot.height }).getContext('2d')
        copy.drawImage(plot, 0, 0)
        const { data } = copy.getImageData(plot.width / 2, 20, 1, 1)
        dark.push(data[0] + data[1] + data[2])
      }
      return { width: canvas.width, dark, legends: [...document.querySelectorAll('.legend button')].filter(e => e.offsetParent).length }
    })
  }
  await page.emulateMedia({ media: 'screen' })
  await settled(page)
  if (before) found.sameAfterPaper = before === await picture(page, 1)
}

async function main() {
  const found = { console: [], requests: [], dialogs: [] }
  const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    const context = await browser.newContext({
      viewport: { width: Number(width), height: 900 }, colorScheme, hasTouch: mode === 'touch', isMobile: mode === 'touch',
      permissions: mode === 'off' ? [] : ['clipboard-read', 'clipboard-write'], javaScriptEnabled: mode !== 'off',
    })
    const page = await context.newPage()
    await watch(page, found)
    if (mode === 'forbidden') {
      await page.route('**/*', route => route.fulfill({
        body: fs.readFileSync(file), contentType: 'text/html', headers: { 'content-security-policy': "sandbox; default-src 'none'" },
      }))
    }
    if (mode === 'off' || mode === 'forbidden') await read(page, found)
    else {
      await open(page, found)
      if (mode === 'touch') await useFingers(page, found)
      else if (found.figures.length) {
        await useMouse(page, found)
        await useKeys(page, found)
        await useButtons(page, found)
      }
      await usePaper(page, found)
    }
  } finally {
    await browser.close()
  }
  console.log(JSON.stringify(found))
}
main().catch(error => {
  console.error(error)
  process.exit(1)
})
