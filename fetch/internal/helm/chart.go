// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"encoding/binary"
	"encoding/hex"
	"slices"

	"kumodo.io/convoy/fetch/internal/versions"
)

// chart is the versions of one chart. An index holds tens of thousands of them, of which a
// few are asked for, so that they are kept as text and taken apart when they are.
type chart struct {
	// packed are blocks of whole entries: one text of all would be copied as it grows.
	packed [][]byte
	// unusable are the reasons why entries cannot be used, by their version texts.
	unusable map[string]string
	// unread counts the entries that are no YAML, and cause says why the first is not.
	unread int
	cause  string
	// crowded says that there are more versions than are looked at.
	crowded bool
}

// pack adds an entry: version, digest and URLs, each with its length before it.
func pack(to []byte, e entry) []byte {
	digest, _ := hex.DecodeString(e.Digest)
	to = packText(packText(to, e.Version), string(digest))
	to = binary.AppendUvarint(to, uint64(len(e.URLs)))
	for _, u := range e.URLs {
		to = packText(to, u)
	}
	return to
}

func packText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// unpacker reads what pack wrote, in the same order.
type unpacker struct{ rest []byte }

func (u *unpacker) number() int {
	n, size := binary.Uvarint(u.rest)
	u.rest = u.rest[size:]
	return int(n)
}

func (u *unpacker) text() string {
	n := u.number()
	text := string(u.rest[:n])
	u.rest = u.rest[n:]
	return text
}

func (u *unpacker) entry() entry {
	e := entry{Version: u.text()}
	e.Digest = hex.EncodeToString([]byte(u.text()))
	for range u.number() {
		e.URLs = append(e.URLs, u.text())
	}
	e.parsed = versions.Parse(e.Version)
	return e
}

// entries are the versions that can be used, in the order of the index.
func (c *chart) entries() []entry {
	var list []entry
	for _, block := range c.packed {
		for u := (unpacker{block}); len(u.rest) > 0; {
			list = append(list, u.entry())
		}
	}
	return list
}

// exactly finds a version as the index writes it.
func (c *chart) exactly(version string) (entry, bool) {
	for _, block := range c.packed {
		for u := (unpacker{block}); len(u.rest) > 0; {
			if e := u.entry(); e.Version == version {
				return e, true
			}
		}
	}
	return entry{}, false
}

// open gives what more versions of a chart are gathered in.
func (c *chart) open() *gathering {
	g := &gathering{chart: c, seen: map[string]bool{}}
	for _, e := range c.entries() {
		g.seen[e.Version] = true
	}
	return g
}

// blockBytes is from where on a block is full.
const blockBytes = 256 << 10

// gathering is a chart while its entries are read.
type gathering struct {
	chart *chart
	// block is the one that is being filled.
	block []byte
	seen  map[string]bool
	// added is how many bytes were gathered, less those that were dropped.
	added int64
}

// crowded says whether no more versions are taken in. More than that are not looked at, so
// that they take little time, whatever they are.
func (g *gathering) crowded() bool { return g.chart.crowded }

// crowd drops the versions: there are too many of them.
func (g *gathering) crowd() {
	g.added -= int64(len(g.block))
	for _, block := range g.chart.packed {
		g.added -= int64(len(block))
	}
	g.chart.crowded, g.chart.packed, g.block = true, nil, nil
}

func (g *gathering) add(e entry) {
	before := len(g.block)
	g.seen[e.Version] = true
	g.block = pack(g.block, e)
	g.added += int64(len(g.block) - before)
	if len(g.block) >= blockBytes {
		g.flush()
	}
}

func (g *gathering) flush() {
	if len(g.block) > 0 {
		g.chart.packed = append(g.chart.packed, slices.Clip(append([]byte(nil), g.block...)))
		g.block = g.block[:0]
	}
}

// close keeps what was gathered and returns how many bytes were added.
func (g *gathering) close() int64 {
	g.flush()
	return g.added
}
