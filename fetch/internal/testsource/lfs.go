// SPDX-License-Identifier: Apache-2.0

package testsource

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// LFS is a server of Git LFS with the batch API and basic transfers, for repositories below
// the same root. Objects are at /lfs-objects/<oid> of the same server.
type LFS struct {
	t testing.TB

	mu      sync.Mutex
	objects map[string][]byte
	// answer changes what the server tells of an object; nil tells where it is.
	answer func(oid string, told map[string]any)
}

// NewLFS returns a server without objects.
func NewLFS(t testing.TB) *LFS { return &LFS{t: t, objects: map[string][]byte{}} }

// Add keeps an object and returns the pointer to it.
func (l *LFS) Add(content string) (pointer string) {
	sum := sha256.Sum256([]byte(content))
	oid := hex.EncodeToString(sum[:])
	l.Put(oid, content)
	return Pointer(oid, len(content))
}

// Pointer is the file that stands for an object.
func Pointer(oid string, size int) string {
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", oid, size)
}

// OID returns the digest in a pointer.
func OID(pointer string) string {
	_, rest, _ := strings.Cut(pointer, "oid sha256:")
	return rest[:64]
}

// Put keeps something under a digest that may not be its own; "" forgets the object.
func (l *LFS) Put(oid, content string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.objects[oid] = []byte(content); content == "" {
		delete(l.objects, oid)
	}
}

// Tell has f change what the server tells of each object; nil stops that.
func (l *LFS) Tell(f func(oid string, told map[string]any)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answer = f
}

// Serve serves what concerns Git LFS, and says whether the request did.
func (l *LFS) Serve(w http.ResponseWriter, r *http.Request) bool {
	if oid, ok := strings.CutPrefix(r.URL.Path, "/lfs-objects/"); ok {
		l.mu.Lock()
		content, ok := l.objects[oid]
		l.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return true
		}
		_, _ = w.Write(content)
		return true
	}
	if !strings.HasSuffix(r.URL.Path, "/info/lfs/objects/batch") {
		return false
	}
	l.batch(w, r)
	return true
}

func (l *LFS) batch(w http.ResponseWriter, r *http.Request) {
	var question struct {
		Operation string
		Transfers []string
		Objects   []struct {
			OID  string `json:"oid"`
			Size int64  `json:"size"`
		}
	}
	const kind = "application/vnd.git-lfs+json"
	err := json.NewDecoder(r.Body).Decode(&question)
	if err != nil || question.Operation != "download" || r.Header.Get("Accept") != kind || r.Header.Get("Content-Type") != kind {
		l.t.Errorf("a malformed question: %v %+v %v", err, question, r.Header)
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	told := []map[string]any{}
	for _, o := range question.Objects {
		answer := map[string]any{"oid": o.OID, "size": o.Size}
		if _, ok := l.objects[o.OID]; ok {
			answer["actions"] = map[string]any{"download": map[string]any{"href": scheme + "://" + r.Host + "/lfs-objects/" + o.OID}}
		} else {
			answer["error"] = map[string]any{"code": 404, "message": "Object does not exist"}
		}
		if l.answer != nil {
			l.answer(o.OID, answer)
		}
		told = append(told, answer)
	}
	w.Header().Set("Content-Type", kind)
	_ = json.NewEncoder(w).Encode(map[string]any{"transfer": "basic", "objects": told})
}
