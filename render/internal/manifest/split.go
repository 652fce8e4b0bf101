// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// Split cuts a YAML stream into its documents and drops those that are empty or hold only
// comments. A document marker ("---", "...") counts only at the start of a line, where
// YAML allows it to be nothing else: not in a string, not in an indented block. What
// belongs to a document is kept to the last newline, which block scalars may mean.
//
// A byte order mark at the start of a document is dropped; CRLF line ends become LF, as
// YAML demands of a reader.
func Split(stream []byte) [][]byte {
	var documents [][]byte
	for _, p := range parts(stream) {
		documents = append(documents, p.text)
	}
	return documents
}

// part is a document of a stream.
type part struct {
	text []byte
	// before is how many lines of the stream are before it.
	before int
}

func parts(stream []byte) []part {
	stream = bytes.ReplaceAll(stream, []byte("\r\n"), []byte("\n"))
	var documents []part
	start, lines, counted := 0, 0, 0
	flush := func(end int) {
		document := bytes.TrimPrefix(stream[start:end], byteOrderMark)
		if !blank(document) {
			lines += bytes.Count(stream[counted:start], []byte("\n"))
			counted = start
			documents = append(documents, part{text: document, before: lines})
		}
	}
	for at := 0; at < len(stream); {
		end, next := lineEnd(stream, at)
		line := stream[at:end]
		if at == start {
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		switch {
		case isMarker(line, "---"):
			flush(at)
			start = next
			if rest := bytes.TrimSpace(line[3:]); len(rest) > 0 && rest[0] != '#' {
				start = end - len(line) + 3 // the document begins in the marker's line
			}
		case isMarker(line, "..."):
			flush(at)
			start = next
		}
		at = next
	}
	flush(len(stream))
	return documents
}

// lineEnd gives the end of the line that begins at at, and the start of the next one.
func lineEnd(stream []byte, at int) (end, next int) {
	if i := bytes.IndexByte(stream[at:], '\n'); i >= 0 {
		return at + i, at + i + 1
	}
	return len(stream), len(stream)
}

func isMarker(line []byte, marker string) bool {
	if !bytes.HasPrefix(line, []byte(marker)) {
		return false
	}
	return len(line) == len(marker) || line[len(marker)] == ' ' || line[len(marker)] == '\t'
}

// blank tells whether a document says nothing: empty lines, comments and directives only.
func blank(document []byte) bool {
	for line := range bytes.Lines(document) {
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) > 0 && trimmed[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}
