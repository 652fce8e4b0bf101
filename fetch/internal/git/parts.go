// SPDX-License-Identifier: Apache-2.0

package git

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/tree"
)

// lfsAnywhere is up to how many bytes all objects of Git LFS of a commit are fetched. Of
// more, only those are that a Release's path shows: repositories that keep media in Git LFS
// hold gigabytes that nobody deploys.
const lfsAnywhere = 64 << 20

// Plan is what of a tree has to be fetched from elsewhere.
type Plan struct {
	// Submodules says that the submodules are wanted.
	Submodules bool
	// Objects are the Git LFS objects that are wanted, by the paths of their pointers.
	Objects map[string]LFSObject
	// Refused are the paths of pointers whose objects are not fetched, and why.
	Refused map[string]error

	digest string
}

// Digest tells plans for the same tree apart.
func (p *Plan) Digest() string { return p.digest }

// Plan returns what has to be fetched from elsewhere for who reads path, nil for nothing.
func (b *Backend) Plan(t *tree.Tree, path string) *Plan {
	if !t.HasParts() {
		return nil
	}
	submodules, pointers := t.Parts()
	p := &Plan{Submodules: b.recurse && len(submodules) > 0, Objects: map[string]LFSObject{}, Refused: map[string]error{}}
	objects, total := parsePointers(pointers, p.Refused)
	scope := "all"
	if total > lfsAnywhere {
		visible := t.PointersAt(path)
		scope = scopeOf(pointers, visible)
		for pointer := range objects {
			if !visible[pointer] {
				delete(objects, pointer)
				p.Refused[pointer] = fault.New(fault.ErrLimit, "the commit has more than %s in Git LFS, of which only what lies at the Release's path is fetched", fault.Size(lfsAnywhere))
			}
		}
	}
	b.fit(p, t.Bytes(), pointers, objects)
	if !p.Submodules && len(p.Objects) == 0 && len(p.Refused) == 0 {
		return nil
	}
	p.digest = scope
	if p.Submodules {
		p.digest += "+submodules"
	}
	return p
}

func parsePointers(pointers []tree.Pointer, refused map[string]error) (objects map[string]LFSObject, total int64) {
	objects, counted := map[string]LFSObject{}, map[LFSObject]bool{}
	for _, pointer := range pointers {
		o, err := ParsePointer(pointer.Content)
		if err != nil {
			refused[pointer.Path] = err
			continue
		}
		objects[pointer.Path] = o
		if !counted[o] && total <= lfsAnywhere {
			total += min(o.Size, lfsAnywhere+1)
		}
		counted[o] = true
	}
	return objects, total
}

func scopeOf(pointers []tree.Pointer, visible map[string]bool) string {
	h := sha256.New()
	for _, pointer := range pointers {
		if visible[pointer.Path] {
			h.Write([]byte(pointer.Path + "\x00"))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// fit takes the objects that there is room for, in the order of their paths.
func (b *Backend) fit(p *Plan, used int64, pointers []tree.Pointer, objects map[string]LFSObject) {
	limits := b.options.Limits
	room, most, flag := limits.ContentBytes-used, limits.ContentBytes, backend.FlagContentBytes
	if limits.DownloadBytes < room {
		room, most, flag = limits.DownloadBytes, limits.DownloadBytes, backend.FlagDownloadBytes
	}
	for _, pointer := range pointers {
		o, ok := objects[pointer.Path]
		switch {
		case !ok:
		case o.Size > limits.FileBytes:
			p.Refused[pointer.Path] = fault.New(fault.ErrLimit, "it has %s; a file may have the %s of --%s", fault.Size(o.Size), fault.Size(limits.FileBytes), backend.FlagFileBytes)
		case o.Size > room:
			p.Refused[pointer.Path] = fault.New(fault.ErrLimit, "with it there is more than the %s of --%s", fault.Size(most), flag)
		default:
			room -= o.Size
			p.Objects[pointer.Path] = o
		}
	}
}

// LFSObject is what a pointer of Git LFS stands for.
type LFSObject struct {
	// OID is the SHA-256 digest of the content, in hexadecimal digits.
	OID string
	// Size in bytes.
	Size int64
}

// Sum returns the digest of the content.
func (o LFSObject) Sum() (sum [sha256.Size]byte) {
	_, _ = hex.Decode(sum[:], []byte(o.OID))
	return sum
}

// ParsePointer reads a pointer, as the specification of Git LFS describes it: lines of a
// key, a space and a value. The error is fault.ErrContent.
func ParsePointer(content []byte) (LFSObject, error) {
	malformed := fault.New(fault.ErrContent, "the Git LFS pointer is malformed")
	var o LFSObject
	seen := map[string]bool{}
	for line := range strings.Lines(string(content)) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		if !ok || seen[key] {
			return LFSObject{}, malformed
		}
		seen[key] = true
		switch {
		case strings.HasPrefix(key, "ext-"):
			return LFSObject{}, fault.New(fault.ErrContent, "the Git LFS pointer uses extensions, which are not supported")
		case key == "oid":
			o.OID, ok = strings.CutPrefix(value, "sha256:")
			if !ok || !isLowerHex(o.OID) {
				return LFSObject{}, malformed
			}
		case key == "size":
			if o.Size, ok = parseSize(value); !ok {
				return LFSObject{}, malformed
			}
		}
	}
	if !seen["version"] || !seen["oid"] || !seen["size"] {
		return LFSObject{}, malformed
	}
	return o, nil
}

func isLowerHex(oid string) bool {
	return len(oid) == 2*sha256.Size && strings.Trim(oid, "0123456789abcdef") == ""
}

func parseSize(text string) (int64, bool) {
	size, err := strconv.ParseInt(text, 10, 64)
	return size, err == nil && size >= 0
}
