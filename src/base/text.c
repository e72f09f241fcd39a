/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

size_t utf8_length(struct str text)
{
    const unsigned char *p = (const unsigned char *)text.p;
    if (text.n == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    size_t length = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || text.n < length)
        return 0;
    unsigned char low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    }
    return length;
}

size_t utf8_whole(struct str text)
{
    for (size_t tail = 1; tail < UTF8_BYTES_MAX && tail <= text.n; tail++) {
        unsigned char byte = (unsigned char)text.p[text.n - tail];
        size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
        if (byte >= 0xc0)
            return length > tail ? text.n - tail : text.n;
        if (byte < 0x80)
            break;
    }
    return text.n;
}

uint32_t utf8_decode(struct str character)
{
    const unsigned char *p = (const unsigned char *)character.p;
    uint32_t point = character.n == 1 ? p[0] : p[0] & (0x7fU >> character.n);
    for (size_t i = 1; i < character.n; i++)
        point = point << 6 | (p[i] & 0x3f);
    return point;
}

size_t utf8_encode(uint32_t point, char ret_bytes[static UTF8_BYTES_MAX])
{
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, point >>= 6)
        ret_bytes[i] = (char)(0x80 | (point & 0x3f));
    ret_bytes[0] = (char)(leads[n] | point);
    return n;
}

bool text_is_control(struct str character)
{
    uint32_t point = utf8_decode(character);
    return point < 0x20 || point - 0x7f <= 0x9f - 0x7f;
}

bool text_is_unsafe(struct str character)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0xad, 0xad}, {0x61c, 0x61c}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff},
        {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};
    if (text_is_control(character))
        return true;
    uint32_t point = utf8_decode(character);
    for (size_t i = 0; point >= 0x80 && i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (point >= ranges[i].first && point <= ranges[i].last)
            return true;
    }
    return false;
}

bool text_is_visible(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] <= ' ' || text.p[i] > '~')
            return false;
    }
    return text.n > 0;
}

bool text_is_plain(struct str text)
{
    while (text.n > 0) {
        size_t n = utf8_length(text);
        if (n == 0 || text_is_control((struct str){text.p, n}))
            return false;
        str_skip(&text, n);
    }
    return true;
}

static bool joins_blanks(enum text_style style)
{
    return style == TEXT_WORDS || style == TEXT_NAME;
}

/* U+0020, U+00A0, U+2000 to U+200A, U+3000. */
static bool is_blank(struct str character)
{
    uint32_t point = utf8_decode(character);
    return point == ' ' || point == 0xa0 || (point >= 0x2000 && point <= 0x200a) || point == 0x3000;
}

/* The character at the start of text as it is shown: itself, "?", " " or nothing. */
static struct str shown_char(struct str text, enum text_style style, size_t *ret_used)
{
    size_t n = utf8_length(text);
    struct str character = {text.p, n};
    *ret_used = n > 0 ? n : 1;
    if (n == 0)
        return style == TEXT_NAME ? (struct str){"", 0} : STR("?");
    if (joins_blanks(style))
        return text_is_unsafe(character) || is_blank(character) ? STR(" ") : character;
    return text_is_unsafe(character) || (style == TEXT_ASCII && n > 1) ? STR("?") : character;
}

size_t text_put_char(struct buf *buf, struct str text, enum text_style style)
{
    size_t used;
    struct str shown = shown_char(text, style, &used);
    unsigned char byte = (unsigned char)text.p[0];
    if (style == TEXT_ESCAPE && used == 1 && shown.p != text.p)
        buf_printf(buf, "\\x%02x", (unsigned)byte);
    else
        buf_append(buf, shown.p, shown.n);
    return used;
}

void text_put(struct buf *buf, struct str text, enum text_style style, size_t max)
{
    size_t start = buf->len;
    size_t fits = start; /* the longest prefix that leaves room for the dots */
    while (text.n > 0) {
        str_skip(&text, text_put_char(buf, text, style));
        if (!buf_ok(buf))
            return;
        if (buf->len - start > max) {
            buf->len = fits;
            buf_puts(buf, "...");
            return;
        }
        if (buf->len - start + 3 <= max)
            fits = buf->len;
    }
}

size_t text_clean(struct str text, enum text_style style, const char *dots, char *out, size_t size)
{
    size_t dots_bytes = strlen(dots);
    size_t used = 0;
    size_t fits = 0; /* up to here the dots have room behind */
    bool is_gap = false;
    while (text.n > 0) {
        size_t taken;
        struct str shown = shown_char(text, style, &taken);
        str_skip(&text, taken);
        if (shown.n == 0 || (joins_blanks(style) && shown.p[0] == ' ')) {
            is_gap |= shown.n > 0 && used > 0;
            continue;
        }
        if (used + is_gap + shown.n > size - 1) {
            memcpy(out + fits, dots, dots_bytes + 1);
            return fits + dots_bytes;
        }
        if (is_gap)
            out[used++] = ' ';
        is_gap = false;
        memmove(out + used, shown.p, shown.n);
        used += shown.n;
        if (used + dots_bytes <= size - 1)
            fits = used;
    }
    out[used] = '\0';
    return used;
}

void text_file_name(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (; text[n] != '\0' && n + 1 < size; n++) {
        char c = text[n];
        bool is_safe = ascii_is_alnum(c) || c == '_' || ((c == '.' || c == '-') && n > 0);
        out[n] = is_safe ? c : '_';
    }
    out[n] = '\0';
}

void text_put_quoted(struct buf *buf, struct str text)
{
    buf_putc(buf, '\'');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '\'')
            buf_puts(buf, "'\\''");
        else
            buf_putc(buf, text.p[i]);
    }
    buf_putc(buf, '\'');
}

size_t text_fit(struct str text, size_t width)
{
    if (text.n <= width)
        return text.n;
    size_t n = width;
    while (n > 0 && text.p[n] != ' ')
        n--;
    return n > 0 ? n : width;
}
