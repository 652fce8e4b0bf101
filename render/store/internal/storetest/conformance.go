// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render"
	"kumodo.io/convoy/render/store"
)

// Opener opens the same place each time, empty in the beginning.
type Opener func(t *testing.T, o store.Options) *store.Store

// Conform checks what every place must do. newPlace is called for each test.
func Conform(t *testing.T, newPlace func(t *testing.T) Opener) {
	tests := []struct {
		name string
		test func(t *testing.T, open Opener)
	}{
		{"what is put is got", testPutGet},
		{"renders that hold Secrets are encrypted or refused", testSecrets},
		{"writers at once do no harm", testWriters},
		{"writers at once who encrypt do no harm", testEncryptingWriters},
		{"what is there stays", testStays},
		{"what is not there", testMissing},
		{"the index of a Release", testIndex},
		{"unneeded renders go after their time", testRetention},
		{"a render that is put again is needed", testPutReclaims},
		{"installations share a place", testInstallations},
		{"a reader writes nothing", testReader},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.test(t, newPlace(t)) })
	}
}

var mine = store.Options{Installation: "mine"}

// Stored gives what is stored of all Releases, by "namespace/name".
func Stored(t *testing.T, s *store.Store) map[string][]store.Stored {
	t.Helper()
	found := map[string][]store.Stored{}
	for kept, err := range s.Walk(t.Context()) {
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		name := kept.Namespace + "/" + kept.Name
		found[name] = append(found[name], kept.Renders...)
	}
	return found
}

// retain calls Retain for everything that is stored.
func retain(t *testing.T, s *store.Store, before time.Time, needed ...string) (sum store.Retained) {
	t.Helper()
	for name, renders := range Stored(t, s) {
		namespace, name, _ := strings.Cut(name, "/")
		done, err := s.Retain(t.Context(), store.Kept{Namespace: namespace, Name: name, Renders: renders},
			func(digest string) bool { return slices.Contains(needed, digest) }, before)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		sum.Marked, sum.Reclaimed, sum.Removed = sum.Marked+done.Marked, sum.Reclaimed+done.Reclaimed, sum.Removed+done.Removed
	}
	return sum
}

func testPutGet(t *testing.T, open Opener) {
	g := NewWithT(t)
	numbers := map[string]any{"spec": map[string]any{"id": int64(9007199254740993), "least": int64(-9223372036854775808), "ratio": 0.5, "list": []any{nil, true}}}
	for _, objects := range [][]render.Object{{Object("ConfigMap", "a", numbers)}, nil} {
		put := Record(t, objects...)
		g.Expect(open(t, mine).Put(t.Context(), put)).To(Succeed())
		got, err := open(t, store.Options{Installation: "mine", ReadOnly: true}).Get(t.Context(), "team", "web", put.Result.Digest)
		g.Expect(err).NotTo(HaveOccurred())
		expectSame(g, got, put)
	}
}

// expectSame compares what is got with what was put, which has no digests of objects.
func expectSame(g *WithT, got, put store.Record) {
	for i := range got.Result.Objects {
		g.Expect(got.Result.Objects[i].Digest).To(HavePrefix("sha256:"))
		got.Result.Objects[i].Digest = ""
	}
	got.Result.Hooks[0].Object.Digest, got.Result.OtherHooks[0].Object.Digest = "", ""
	g.Expect(got).To(Equal(put))
}

func testSecrets(t *testing.T, open Opener) {
	g := NewWithT(t)
	secret := Record(t, Object("Secret", "a", map[string]any{"stringData": map[string]any{"password": "hunter2-canary"}}))
	g.Expect(open(t, mine).Put(t.Context(), secret)).To(MatchError(store.ErrPlaintextSecrets))
	g.Expect(Stored(t, open(t, mine))).To(BeEmpty())

	identity, stranger := newIdentity(t), newIdentity(t)
	sealing := store.Options{Installation: "mine", Recipients: []age.Recipient{identity.Recipient()}}
	g.Expect(open(t, sealing).Put(t.Context(), secret)).To(Succeed())
	for _, identities := range [][]age.Identity{nil, {stranger}} {
		_, err := open(t, store.Options{Installation: "mine", Identities: identities}).Get(t.Context(), "team", "web", secret.Result.Digest)
		g.Expect(err).To(MatchError(store.ErrNoIdentity))
	}
	got, err := open(t, store.Options{Installation: "mine", Identities: []age.Identity{stranger, identity}}).Get(t.Context(), "team", "web", secret.Result.Digest)
	g.Expect(err).NotTo(HaveOccurred())
	expectSame(g, got, secret)
}

func newIdentity(t *testing.T) *age.X25519Identity {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return identity
}

func testWriters(t *testing.T, open Opener) { putAtOnce(t, open, mine) }

func testEncryptingWriters(t *testing.T, open Opener) {
	identity := newIdentity(t)
	putAtOnce(t, open, store.Options{
		Installation: "mine", Recipients: []age.Recipient{identity.Recipient()}, Identities: []age.Identity{identity},
	})
}

// putAtOnce has one render put by many stores at once.
func putAtOnce(t *testing.T, open Opener, o store.Options) {
	g := NewWithT(t)
	r := Record(t, ConfigMap("x"))
	stores := make([]*store.Store, 8)
	for i := range stores {
		stores[i] = open(t, o)
	}
	errs := make([]error, len(stores))
	var wait sync.WaitGroup
	for i := range stores {
		wait.Go(func() { errs[i] = stores[i].Put(t.Context(), r) })
	}
	wait.Wait()
	g.Expect(errs).To(HaveEach(BeNil()))
	_, err := stores[0].Get(t.Context(), "team", "web", r.Result.Digest)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(Stored(t, stores[0])).To(HaveKeyWithValue("team/web", HaveLen(1)))
}

func testStays(t *testing.T, open Opener) {
	g := NewWithT(t)
	first := Record(t, ConfigMap("x"))
	g.Expect(open(t, mine).Put(t.Context(), first)).To(Succeed())
	later := first
	later.Revision = "later"
	g.Expect(open(t, mine).Put(t.Context(), later)).To(Succeed())
	got, err := open(t, mine).Get(t.Context(), "team", "web", first.Result.Digest)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.Revision).To(Equal(first.Revision))
}

func testMissing(t *testing.T, open Opener) {
	g := NewWithT(t)
	s := open(t, mine)
	g.Expect(s.Put(t.Context(), Record(t))).To(Succeed())
	digest := "sha256:" + strings.Repeat("0", 64)
	_, err := s.Get(t.Context(), "team", "web", digest)
	g.Expect(err).To(MatchError(store.ErrNotFound))
	g.Expect(err).NotTo(MatchError(store.ErrUnavailable))
	g.Expect(err.Error()).To(And(ContainSubstring(digest), ContainSubstring("team/web")))
	_, err = s.Get(t.Context(), "team", "other", Record(t).Result.Digest)
	g.Expect(err).To(MatchError(store.ErrNotFound))
}

func testIndex(t *testing.T, open Opener) {
	g := NewWithT(t)
	s := open(t, mine)
	var digests []string
	for i := range 3 {
		r := Record(t, ConfigMap(fmt.Sprint(i)), Object("ConfigMap", "b", nil))
		r.Revision = fmt.Sprint("main@sha1:", i)
		digests = append(digests, r.Result.Digest)
		g.Expect(s.Put(t.Context(), r)).To(Succeed())
	}
	other := Record(t)
	other.Name = "web-2" // what a name begins with is another Release
	g.Expect(s.Put(t.Context(), other)).To(Succeed())

	entries, err := s.Index(t.Context(), "team", "web")
	g.Expect(err).NotTo(HaveOccurred())
	revisions := map[string]string{}
	for i, entry := range entries {
		revisions[entry.Digest] = entry.Revision
		g.Expect(entry.Objects).To(Equal(2))
		g.Expect(string(entry.UID)).To(Equal("u"))
		g.Expect(entry.Size).To(BeNumerically(">", 0))
		g.Expect(i == 0 || !entry.At.After(entries[i-1].At)).To(BeTrue(), "newest first")
	}
	g.Expect(revisions).To(Equal(map[string]string{digests[0]: "main@sha1:0", digests[1]: "main@sha1:1", digests[2]: "main@sha1:2"}))
	none, err := s.Index(t.Context(), "team", "none")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(none).To(BeEmpty())
}

func testRetention(t *testing.T, open Opener) {
	g := NewWithT(t)
	s := open(t, mine)
	needed, unneeded := Record(t, ConfigMap("needed")), Record(t, ConfigMap("unneeded"))
	g.Expect(s.Put(t.Context(), needed)).To(Succeed())
	g.Expect(s.Put(t.Context(), unneeded)).To(Succeed())
	long, soon := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)

	g.Expect(retain(t, s, soon, needed.Result.Digest)).To(Equal(store.Retained{Marked: 1}), "nothing goes that was not marked before")
	g.Expect(retain(t, s, long, needed.Result.Digest)).To(Equal(store.Retained{}), "nor before its time")
	g.Expect(retain(t, s, soon, needed.Result.Digest, unneeded.Result.Digest)).To(Equal(store.Retained{Reclaimed: 1}))
	g.Expect(retain(t, s, soon, needed.Result.Digest)).To(Equal(store.Retained{Marked: 1}), "its time begins anew")
	g.Expect(retain(t, s, soon, needed.Result.Digest)).To(Equal(store.Retained{Removed: 1}))

	_, err := s.Get(t.Context(), "team", "web", unneeded.Result.Digest)
	g.Expect(err).To(MatchError(store.ErrNotFound))
	_, err = s.Get(t.Context(), "team", "web", needed.Result.Digest)
	g.Expect(err).NotTo(HaveOccurred())
	left := Stored(t, s)["team/web"]
	g.Expect(left).To(HaveLen(1), "nor are traces left")
	g.Expect(left[0].UnneededSince).To(BeZero())
}

func testPutReclaims(t *testing.T, open Opener) {
	g := NewWithT(t)
	s := open(t, mine)
	r := Record(t, ConfigMap("x"))
	g.Expect(s.Put(t.Context(), r)).To(Succeed())
	soon := time.Now().Add(time.Hour)
	g.Expect(retain(t, s, soon)).To(Equal(store.Retained{Marked: 1}))
	listed := Stored(t, s)["team/web"]
	g.Expect(listed[0].Due(soon)).To(BeTrue())

	g.Expect(open(t, mine).Put(t.Context(), r)).To(Succeed())
	done, err := s.Retain(t.Context(), store.Kept{Namespace: "team", Name: "web", Renders: listed}, func(string) bool { return false }, soon)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(done.Removed).To(BeZero(), "what was listed before is looked at again")
	_, err = s.Get(t.Context(), "team", "web", r.Result.Digest)
	g.Expect(err).NotTo(HaveOccurred())
}

func testInstallations(t *testing.T, open Opener) {
	g := NewWithT(t)
	here, there := open(t, mine), open(t, store.Options{Installation: ".."})
	r := Record(t, ConfigMap("x"))
	g.Expect(here.Put(t.Context(), r)).To(Succeed())
	_, err := there.Get(t.Context(), "team", "web", r.Result.Digest)
	g.Expect(err).To(MatchError(store.ErrNotFound))
	g.Expect(Stored(t, there)).To(BeEmpty())

	g.Expect(there.Put(t.Context(), r)).To(Succeed())
	soon := time.Now().Add(time.Hour)
	g.Expect(retain(t, there, soon)).To(Equal(store.Retained{Marked: 1}))
	g.Expect(retain(t, there, soon)).To(Equal(store.Retained{Removed: 1}))
	_, err = here.Get(t.Context(), "team", "web", r.Result.Digest)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(Stored(t, here)["team/web"]).To(ConsistOf(HaveField("UnneededSince", BeZero())))
}

func testReader(t *testing.T, open Opener) {
	g := NewWithT(t)
	g.Expect(open(t, mine).Put(t.Context(), Record(t))).To(Succeed())
	reader := open(t, store.Options{Installation: "mine", ReadOnly: true})
	g.Expect(reader.Put(t.Context(), Record(t, ConfigMap("x")))).To(MatchError(store.ErrReadOnly))
	_, err := reader.Retain(t.Context(), store.Kept{Namespace: "team", Name: "web", Renders: Stored(t, reader)["team/web"]},
		func(string) bool { return false }, time.Now())
	g.Expect(err).To(MatchError(store.ErrReadOnly))
	g.Expect(Stored(t, reader)["team/web"]).To(ConsistOf(HaveField("UnneededSince", BeZero())))
}
