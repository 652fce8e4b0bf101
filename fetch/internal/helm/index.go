// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/budget"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/versions"
)

const (
	// maxEntry bounds one version of one chart in an index.
	maxEntry = 8 << 20
	// maxUnusual bounds an index that has to be read whole, because it is not written as
	// Helm writes it. Reading it takes many times its size.
	maxUnusual = 8 << 20
	// maxVersions bounds the versions of one chart: each look for the newest goes through all.
	maxVersions = 100_000
	// maxKept bounds what is kept of an index. Aliases make much of little text.
	maxKept = 24 << 20
	// maxExpanded bounds the values that aliases stand for, beyond those that are written.
	maxExpanded = 1 << 20
	// maxReasons bounds the unusable entries of which it is known why.
	maxReasons = 10_000
)

// index is what is worth keeping of an index.yaml.
type index struct {
	charts map[string]*chart
	// skipped counts entries that cannot be used, reasons those of which it is kept why.
	skipped, reasons int
	digest           string
	// etag and modified identify the copy at the server.
	etag, modified string
	size           int64
	// most is how many versions a chart may have.
	most int
	// severed says that entries refer to others in an index that is too large for that.
	severed bool
}

// parseIndex reads an index entry by entry, so that neither its size nor one that is
// broken matters to the others. What it holds is taken from the budget of ctx. The errors are
// fault.ErrContent, fault.ErrLimit and that of ctx.
func parseIndex(ctx context.Context, r io.Reader) (*index, error) {
	return parseUpTo(ctx, r, maxVersions)
}

// parseUpTo is parseIndex with another bound of the versions of a chart.
func parseUpTo(ctx context.Context, r io.Reader, most int) (*index, error) {
	hash := sha256.New()
	// The text is held as long as it may have to be read whole, and what is kept is part of it.
	r = io.TeeReader(budget.Reader(ctx, r, maxUnusual+maxKept), hash)
	p := &indexParser{index: &index{charts: map[string]*chart{}, most: most}, lines: bufio.NewReaderSize(r, 64<<10)}
	p.room = func(bytes int64) (giveBack func(), err error) {
		giveBack = budget.Mark(ctx)
		return giveBack, budget.Take(ctx, bytes)
	}
	if err := p.parse(); err != nil {
		return nil, err
	}
	p.index.digest = "sha256:" + hex.EncodeToString(hash.Sum(nil))
	return p.index, nil
}

// indexParser cuts an index, written in the block style of YAML as Helm writes it, into
// its entries: below "entries:" each chart is a key at one indentation, and each of its
// versions a list item at one other. An index in another style is parsed whole.
type indexParser struct {
	index *index
	lines *bufio.Reader
	// room waits until bytes may be held beside what others hold, until they are given back.
	room func(bytes int64) (giveBack func(), err error)

	// before holds what comes before the entries, for an index in another style.
	before  bytes.Buffer
	inside  bool // below "entries:"
	indent  int  // of the charts' names, -1 before the first
	items   int  // indentation of the chart's list items, -1 before the first
	current *gathering
	item    bytes.Buffer

	// number is that of the line, begun that of the first line of the entry.
	number, begun int
	// text is all of the index, nil when it is too much to be read whole.
	text *bytes.Buffer
	// referring says that an entry that cannot be read refers to something.
	referring bool
	// expanded counts the values that aliases stand for.
	expanded int
}

func (p *indexParser) parse() error {
	p.indent, p.items, p.text = -1, -1, &bytes.Buffer{}
	for {
		line, err := readLine(p.lines)
		if len(line) > 0 {
			p.keep(line)
			if e := p.line(line); e != nil {
				return e
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if err := p.endChart(); err != nil {
		return err
	}
	switch {
	case len(p.index.charts) == 0 && p.indent < 0:
		return p.whole(p.before.Bytes())
	case p.referring && p.text != nil:
		// What an entry refers to may stand in another one.
		again := indexParser{index: &index{charts: map[string]*chart{}, most: p.index.most}, room: p.room}
		switch err := again.whole(p.text.Bytes()); {
		case err == nil:
			p.index = again.index
		case !errors.Is(err, fault.ErrContent):
			return err
		}
	case p.referring:
		p.index.severed = true
	case p.index.skipped > 0 && p.index.usable() == 0 && p.text != nil:
		var document yaml.Node
		wrong, err := p.decode(p.text.Bytes(), &document)
		if wrong != nil {
			return notYAML(wrong)
		}
		return err
	}
	return nil
}

// decodedTimes is about how many times the size of a text its values have.
const decodedTimes = 16

// decode reads a text, and says what is wrong with it. The other error is that of waiting for room.
func (p *indexParser) decode(text []byte, into any) (wrong, err error) {
	giveBack, err := p.room(int64(len(text)) * decodedTimes)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	return yaml.Unmarshal(text, into), nil
}

// keep counts a line, and keeps it as long as the index may have to be read whole.
func (p *indexParser) keep(line []byte) {
	p.number++
	if p.text == nil {
		return
	}
	if p.text.Len()+len(line) > maxUnusual {
		p.text = nil
		return
	}
	p.text.Write(line)
}

// notYAML is the error for an index of which nothing can be read.
func notYAML(err error) error {
	line, cause := causeOf(err)
	return fault.New(fault.ErrContent, "the index is no valid YAML: line %d: %s", line, cause)
}

// yamlError is what the YAML library says: a line, which it leaves out when it is the first,
// and the cause.
var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

func causeOf(err error) (line int, cause string) {
	said := yamlError.FindStringSubmatch(err.Error())
	if said == nil {
		return 1, cut(err.Error())
	}
	line, _ = strconv.Atoi(said[1])
	return max(1, line), cut(said[2])
}

// readLine returns the next line without holding more than an entry's worth of it.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxUnusual {
			return nil, fault.New(fault.ErrLimit, "the index has a line of more than %s", fault.Size(maxUnusual))
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (p *indexParser) line(line []byte) error {
	text := bytes.TrimRight(line, " \t\r\n")
	content := bytes.TrimLeft(text, " ")
	indent := len(text) - len(content)
	blank := len(content) == 0 || content[0] == '#'
	switch {
	case !p.inside:
		if p.before.Len()+len(line) > maxUnusual {
			return fault.New(fault.ErrLimit, "the index is not in the usual form and has more than %s", fault.Size(maxUnusual))
		}
		p.before.Write(line)
		key, rest, _ := bytes.Cut(text, []byte(":"))
		p.inside = string(key) == "entries" && (len(bytes.TrimSpace(rest)) == 0 || bytes.TrimSpace(rest)[0] == '#')
		return nil
	case blank:
		return p.more(line)
	case content[0] == '\t' && (p.indent < 0 || indent <= p.indent):
		return fault.New(fault.ErrContent, "the index is no valid YAML: line %d is indented with a tab; YAML wants spaces", p.number)
	case indent == 0 && content[0] != '-':
		// The next key of the index itself.
		p.inside = false
		return p.endChart()
	}
	if p.indent < 0 {
		p.indent = indent
	}
	isItem := content[0] == '-' && (len(content) == 1 || content[1] == ' ')
	switch {
	case indent == p.indent && !isItem:
		return p.chart(content)
	case isItem && p.current != nil && (p.items < 0 || indent == p.items):
		p.items = indent
		if err := p.endItem(); err != nil {
			return err
		}
		if p.current.crowded() {
			p.index.skipped++
		}
	}
	return p.more(line)
}

// more adds a line to the entry that is being read.
func (p *indexParser) more(line []byte) error {
	if p.current == nil || (p.item.Len() == 0 && p.items < 0) {
		return nil
	}
	if p.current.crowded() {
		return nil
	}
	if p.item.Len() == 0 {
		p.begun = p.number
	}
	if p.item.Len()+len(line) > maxEntry {
		return fault.New(fault.ErrLimit, "the index has an entry of more than %s", fault.Size(maxEntry))
	}
	p.item.Write(line)
	return nil
}

// chart begins a chart. What stands behind its name on the same line is a list in another
// style, an empty one most often.
func (p *indexParser) chart(content []byte) error {
	if err := p.endChart(); err != nil {
		return err
	}
	var header map[string]yaml.Node
	if err := yaml.Unmarshal(content, &header); err != nil || len(header) != 1 {
		p.begun = p.number
		name, _, _ := bytes.Cut(content, []byte(":"))
		p.unreadable(p.index.chart(strings.Trim(string(name), `"' `)), content, err)
		return p.bounded()
	}
	for name, value := range header {
		p.current = p.index.chart(name).open()
		if err := p.nodes(value.Content, 0); err != nil {
			return err
		}
	}
	return p.bounded()
}

// unreadable remembers why a part of a chart cannot be read.
func (p *indexParser) unreadable(c *chart, text []byte, err error) {
	p.index.skipped++
	p.referring = p.referring || bytes.ContainsRune(text, '*')
	if c.unread++; c.unread > 1 || err == nil {
		return
	}
	line, cause := causeOf(err)
	c.cause = fmt.Sprintf("line %d: %s", p.begun+line-1, cause)
	p.index.size += int64(len(c.cause))
}

func (p *indexParser) endChart() error {
	err := p.endItem()
	if p.current != nil {
		p.index.size += p.current.close()
	}
	p.current, p.items = nil, -1
	return err
}

func (p *indexParser) endItem() error {
	if p.item.Len() == 0 || p.current == nil {
		return nil
	}
	defer p.item.Reset()
	var list []yaml.Node
	wrong, err := p.decode(p.item.Bytes(), &list)
	if err != nil {
		return err
	}
	if wrong != nil {
		p.unreadable(p.current.chart, p.item.Bytes(), wrong)
		return nil
	}
	nodes := make([]*yaml.Node, 0, len(list))
	for i := range list {
		nodes = append(nodes, &list[i])
	}
	return p.nodes(nodes, 0)
}

// nodes takes the entries of the chart in, which stand behind so many aliases. The error is
// fault.ErrLimit.
func (p *indexParser) nodes(nodes []*yaml.Node, aliases int) error {
	for _, node := range nodes {
		if p.current.crowded() {
			return nil
		}
		through := aliases
		if node.Kind == yaml.AliasNode {
			node, through = node.Alias, through+1
		}
		fits := p.weigh(node, through)
		if err := p.bounded(); err != nil {
			return err
		}
		var e entry
		if !fits || node.Decode(&e) != nil {
			p.index.skipped++
			continue
		}
		p.index.add(p.current, e)
	}
	return p.bounded()
}

// bounded says whether what was kept and what was expanded so far is little enough.
func (p *indexParser) bounded() error {
	kept := p.index.size
	if p.current != nil {
		kept += p.current.added
	}
	switch {
	case kept > maxKept:
		return fault.New(fault.ErrLimit, "the index has names, versions and URLs of charts of more than %s", fault.Size(maxKept))
	case p.expanded > maxExpanded:
		return fault.New(fault.ErrLimit, "the aliases in the index stand for more than %d values", maxExpanded)
	}
	return nil
}

// whole parses an index that is not in the usual form.
func (p *indexParser) whole(text []byte) error {
	var document struct {
		Entries map[string]yaml.Node `yaml:"entries"`
	}
	wrong, err := p.decode(text, &document)
	if err != nil {
		return err
	}
	if wrong != nil || document.Entries == nil {
		mentioned := bytes.Contains(text, []byte("entries:"))
		if wrong == nil && mentioned {
			return nil
		}
		if mentioned {
			return notYAML(wrong)
		}
		return fault.New(fault.ErrContent, "what the server sent is no index of a Helm repository: it has no entries")
	}
	for name, value := range document.Entries {
		aliases := 0
		if value.Kind == yaml.AliasNode {
			value, aliases = *value.Alias, 1
		}
		p.current = p.index.chart(name).open()
		if err := p.nodes(value.Content, aliases); err != nil {
			return err
		}
		if err := p.endChart(); err != nil {
			return err
		}
	}
	return nil
}

func (x *index) chart(name string) *chart {
	c := x.charts[name]
	if c == nil {
		c = &chart{}
		x.charts[name] = c
		x.size += int64(len(name)) + 150
	}
	return c
}

// add takes an entry in, if it can be used. Of two with the same version the first counts.
func (x *index) add(g *gathering, e entry) {
	digest, written := digestOf(e.Digest)
	e.URLs = slices.DeleteFunc(e.URLs, func(u string) bool { return u == "" })
	reason := ""
	switch {
	case e.Version == "" || len(e.Version) > maxVersion:
		x.skipped++
		return
	case versions.Parse(e.Version) == nil:
		reason = "is not a semantic version"
	case g.seen[e.Version]:
		x.skipped++
		return
	case len(e.URLs) == 0:
		reason = "cannot be downloaded: its entry has no URL"
	case len(e.URLs) > maxURLs:
		reason = fmt.Sprintf("cannot be downloaded: its entry has more than %d URLs", maxURLs)
	case slices.ContainsFunc(e.URLs, func(u string) bool { return len(u) > maxURL }):
		reason = fmt.Sprintf("cannot be downloaded: its entry has a URL of more than %s", fault.Size(maxURL))
	case !written:
		reason = fmt.Sprintf("cannot be checked: the digest in its entry, %q, is none of SHA-256 (64 hex digits, with or without sha256: before them)", cut(e.Digest))
	}
	if reason != "" {
		x.refuse(g.chart, e.Version, reason)
		return
	}
	e.Digest = digest
	delete(g.chart.unusable, e.Version)
	if len(g.seen) >= x.most {
		g.crowd()
		return
	}
	g.add(e)
}

// refuse remembers why a version cannot be used.
func (x *index) refuse(c *chart, version, reason string) {
	x.skipped++
	if x.reasons++; x.reasons > maxReasons {
		return
	}
	if c.unusable == nil {
		c.unusable = map[string]string{}
	}
	c.unusable[version] = reason
	x.size += int64(len(version)+len(reason)) + 100
}

// digestOf reads the digest of an entry; ok is false when it is there and malformed.
func digestOf(written string) (digest string, ok bool) {
	digest = strings.ToLower(strings.TrimPrefix(written, "sha256:"))
	return digest, written == "" || backend.IsHex(digest, 64)
}

// cut shortens what an index says to what a message can show of it.
func cut(text string) string {
	const shown = 100
	if len(text) <= shown {
		return text
	}
	return strings.ToValidUTF8(text[:shown], "") + "…"
}

// find returns the version of a chart that is wanted. The error is fault.ErrContent when
// only entries that are unusable fit.
func (x *index) find(name, wanted string) (entry, error) {
	c := x.charts[name]
	if c == nil {
		return entry{}, fault.New(fault.ErrNotFound, "the repository has no chart %q%s", name, x.similar(name))
	}
	if c.crowded {
		return entry{}, x.tooMany(name)
	}
	if err := c.refused(name, wanted); err != nil {
		return entry{}, err
	}
	entries := c.entries()
	candidates := make([]versions.Candidate, 0, len(entries))
	for i, e := range entries {
		candidates = append(candidates, versions.Candidate{Name: e.Version, Version: e.parsed, Index: i})
	}
	what := fmt.Sprintf("the chart %q", name)
	best, err := versions.Pick(wanted, what, candidates)
	if err == nil {
		return entries[best.Index], nil
	}
	if errors.Is(err, fault.ErrNotFound) && c.unread > 0 {
		text := fmt.Sprintf("%s; %d of its entries cannot be read, the first because of %s", err, c.unread, c.cause)
		if x.severed {
			text += fmt.Sprintf(" (in an index of more than %s, an entry cannot refer to an anchor of another one)", fault.Size(maxUnusual))
		}
		err = fault.Rewrite(err, text)
	}
	if errors.Is(err, fault.ErrNotFound) {
		if unusable, e := versions.Pick(wanted, what, c.unusableVersions()); e == nil {
			err = c.refused(name, unusable.Name)
		}
	}
	return entry{}, err
}

// refused tells why a version, as the index writes it, cannot be used; nil when it is not
// among those.
func (c *chart) refused(name, version string) error {
	if reason := c.unusable[version]; reason != "" {
		return fault.New(fault.ErrContent, "the version %q of the chart %q %s", version, name, reason)
	}
	return nil
}

func (c *chart) unusableVersions() []versions.Candidate {
	var list []versions.Candidate
	for _, name := range slices.Sorted(maps.Keys(c.unusable)) {
		if v := versions.Parse(name); v != nil {
			list = append(list, versions.Candidate{Name: name, Version: v})
		}
	}
	return list
}

// exactly returns the entry of one version as the index writes it. The errors are
// fault.ErrNotFound and fault.ErrContent.
func (x *index) exactly(name, version string) (entry, error) {
	if c := x.charts[name]; c != nil {
		if e, ok := c.exactly(version); ok {
			return e, nil
		}
		if c.crowded {
			return entry{}, x.tooMany(name)
		}
		if err := c.refused(name, version); err != nil {
			return entry{}, err
		}
	}
	return entry{}, fault.New(fault.ErrNotFound, "the repository has no version %s of the chart %q any more", version, name)
}

func (x *index) tooMany(name string) error {
	return fault.New(fault.ErrLimit, "the chart %q has more than %d versions in the index; publish fewer, or use a registry (oci)", name, x.most)
}

// usable counts the charts that have a version.
func (x *index) usable() int {
	n := 0
	for _, c := range x.charts {
		if len(c.packed) > 0 {
			n++
		}
	}
	return n
}

// similar names charts that may have been meant.
func (x *index) similar(name string) string {
	var names []string
	for other := range x.charts {
		if strings.Contains(other, name) || strings.Contains(name, other) {
			names = append(names, other)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "; it has " + strings.Join(names[:min(len(names), 5)], ", ")
}
