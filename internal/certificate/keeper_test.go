// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto/x509"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestOfReplicasThatRaceOneIsFirst(t *testing.T) {
	inWorld(t, func(w *world) {
		w.slow = time.Second // all see the empty Secret before one has written
		replicas := []*replica{w.start(0), w.start(0), w.start(0), w.start(0)}
		w.pass(5 * time.Second)
		w.Expect(w.updates.Load()).To(Equal(int64(1)))
		w.allTrustAll(replicas...)
		keys := map[string]bool{}
		for _, r := range replicas {
			w.Expect(r.Current().Bundle).To(Equal(w.data()[keyTrusted]))
			keys[r.Current().Certificate.Leaf.SerialNumber.String()] = true
			w.Expect(r.changes.Load()).To(Equal(int64(1)), "nobody used what was not written")
		}
		w.Expect(keys).To(HaveLen(len(replicas)), "each has its own")
	})
}

func TestCertificatesAreRenewedWithoutTheHost(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.start(0)
		w.pass(time.Minute)
		first, requests := r.Current(), w.requests.Load()
		w.Expect(first.Certificate.Leaf.NotAfter).To(BeTemporally("~", time.Now().Add(leafLifetime), time.Hour))
		w.pass(leafLifetime*2/3 - time.Hour)
		w.Expect(r.Current()).To(BeIdenticalTo(first))
		w.pass(2 * time.Hour)
		w.Expect(r.Current().Certificate.Leaf.SerialNumber).NotTo(Equal(first.Certificate.Leaf.SerialNumber))
		w.Expect(r.Current().Certificate.PrivateKey).NotTo(Equal(first.Certificate.PrivateKey))
		w.pass(200*day - leafLifetime)
		w.allTrustAll(r)
		w.Expect(w.requests.Load()).To(Equal(requests), "one watch, and nothing besides")
	})
}

// slowReader trusts what the Secret said some time ago.
type slowReader struct{ past []*x509.CertPool }

func (s *slowReader) roots(w *world, steps int) *x509.CertPool {
	held, _ := read(w.data())
	s.past = append(s.past, held.pool())
	return s.past[max(0, len(s.past)-1-steps)]
}

func TestAuthoritiesFollowEachOtherWithoutABreak(t *testing.T) {
	inWorld(t, func(w *world) {
		replicas := []*replica{w.start(-10 * time.Minute), w.start(0), w.start(10 * time.Minute)}
		w.pass(time.Minute)
		var slow slowReader
		issuers := map[string]bool{}
		const step = 2 * day
		for range 3 * 365 * day / step {
			w.pass(step)
			w.allTrustAll(replicas...)
			roots := slow.roots(w, int((overlap-day)/step))
			for _, r := range replicas {
				issuers[r.issuer()] = true
				w.Expect(trusts(roots, 0, r)).To(Succeed(), "whoever follows within the overlap trusts everybody")
				w.Expect(trusts(roots, -backdating+11*time.Minute, r)).To(Succeed(), "with a clock that is behind too")
			}
			held, faults := read(w.data())
			w.Expect(faults).To(BeEmpty())
			w.Expect(len(held.trusted())).To(BeNumerically("<=", 3))
		}
		w.Expect(issuers).To(HaveLen(5), "every 243 + 7 days another")
		w.Expect(w.updates.Load()).To(BeNumerically("<", 16))
	})
}

// until lets time pass until the Secret holds a next authority, or none any more.
func (w *world) until(takeover bool) {
	w.t.Helper()
	for range 400 {
		if (len(w.data()[keyNextCertificate]) > 0) == takeover {
			return
		}
		w.pass(day)
	}
	w.t.Fatal("it did not happen")
}

func TestReplicaThatIsCutOffOverATakeover(t *testing.T) {
	inWorld(t, func(w *world) {
		w.bring(30 * day)
		here, away := w.start(0), w.start(0)
		w.pass(19 * day)
		w.allTrustAll(here, away)
		before := away.Current()
		away.connect(false)
		w.until(true)
		w.until(false)
		w.pass(lookInterval)
		w.Expect(here.issuer()).NotTo(Equal("brought"))
		w.Expect(away.Current()).NotTo(BeIdenticalTo(before))
		w.Expect(away.issuer()).To(Equal("brought"), "it signs with what it has")
		w.Expect(trusts(here.Current().Roots, 0, away)).To(Succeed(), "the former authority is still trusted")
		away.connect(true)
		w.pass(2 * time.Minute)
		w.Expect(away.issuer()).To(Equal(here.issuer()))
		w.allTrustAll(here, away)
	})
}

func TestReplicasThatWereDown(t *testing.T) {
	for _, test := range []struct {
		name      string
		run, down time.Duration
	}{
		{"over a takeover", day, 260 * day},
		{"from one takeover to the next", 245 * day, 250 * day},
		{"until just before the authority ends", day, 364*day - 30*time.Minute},
		{"longer than the authority lived", day, 400 * day},
		{"longer than the next one lived", 245 * day, 900 * day},
	} {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				first := w.start(0)
				w.pass(time.Minute)
				old := first.issuer()
				w.pass(test.run)
				first.end()
				w.pass(test.down)
				replicas := []*replica{w.start(0), w.start(5 * time.Minute)}
				for range 120 {
					w.pass(time.Minute)
					w.allTrustAll(replicas...)
				}
				w.pass(overlap + 2*time.Hour)
				w.allTrustAll(replicas...)
				w.Expect(replicas[0].issuer()).NotTo(Equal(old))
			})
		})
	}
}

func TestADamagedSecretIsMended(t *testing.T) {
	other, err := newAuthority(time.Now())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	leaf, err := other.issue(Subject{CommonName: "x"}, time.Now())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	set := func(key string, value []byte) func(w *world) {
		return func(w *world) {
			data := w.data()
			data[key] = value
			w.put(data)
		}
	}
	for _, test := range []struct {
		name   string
		damage func(w *world)
		anew   bool
	}{
		{"emptied", func(w *world) { w.put(nil) }, true},
		{"deleted", func(w *world) { w.remove() }, true},
		{"no key", set(keyPrivate, nil), true},
		{"half a key", set(keyPrivate, other.keyPEM[:60]), true},
		{"the key of another", set(keyPrivate, other.keyPEM), true},
		{"no certificate", set(keyCertificate, []byte("certificate")), true},
		{"a certificate that is no authority's", set(keyCertificate, encode(leaf.Leaf)), true},
		{"only what is trusted", func(w *world) { w.put(map[string][]byte{keyTrusted: w.data()[keyTrusted]}) }, true},
		{"nothing is trusted", set(keyTrusted, nil), false},
		{"something else is trusted", set(keyTrusted, []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")), false},
		{"another authority is trusted too", set(keyTrusted, encode(other.certificate)), false},
		{"half a next authority", set(keyNextCertificate, encode(other.certificate)), false},
		{"another key", set("note", []byte("hello")), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				replicas := []*replica{w.start(0), w.start(0)}
				w.pass(time.Minute)
				before := replicas[0].Current().Bundle
				test.damage(w)
				w.pass(2 * time.Second)
				w.allTrustAll(replicas...)
				held, faults := read(w.data())
				w.Expect(faults).To(BeEmpty())
				w.Expect(replicas[1].Current().Bundle).To(Equal(w.data()[keyTrusted]))
				w.Expect(slices.ContainsFunc(held.trusted(), func(c *x509.Certificate) bool { return string(encode(c)) == string(before) })).
					To(Equal(!test.anew), "what was lost may have been stolen, and is not trusted any more")
				settled := w.updates.Load()
				w.pass(day)
				w.Expect(w.updates.Load()).To(Equal(settled))
			})
		})
	}
}

func TestADamagedAuthorityIsFollowedByTheNext(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.start(0)
		w.pass(time.Minute)
		w.until(true)
		data := w.data()
		next, _ := read(data)
		delete(data, keyPrivate)
		w.put(data)
		w.pass(time.Second)
		w.Expect(r.issuer()).To(Equal(next.next.certificate.Subject.CommonName), "it is trusted already")
		w.Expect(r.Current().Bundle).To(ContainSubstring(string(encode(next.signer.certificate))))
	})
}

func TestWithoutTheRightToWrite(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.start(0)
		forbidden := apierrors.NewForbidden(secrets.GroupResource(), secretName.Name, fmt.Errorf("no right"))
		r.refused.Store(forbidden)
		w.pass(5 * time.Minute)
		w.Expect(r.Current()).To(BeNil())
		w.Expect(r.Check(t.Context())).To(MatchError(And(ContainSubstring("convoy-system/convoy-ca"), ContainSubstring("no right"))))
		w.Expect(apierrors.IsForbidden(r.Check(t.Context()))).To(BeTrue())

		w.bring(6 * day)
		w.pass(5 * day)
		w.allTrustAll(r)
		w.pass(day)
		w.Expect(r.Check(t.Context())).To(MatchError(And(ContainSubstring("expired"), ContainSubstring("no right"))))
	})
}

func TestAHostThatDoesNotAnswerYet(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.start(0)
		r.connect(false)
		w.pass(10 * time.Minute)
		w.Expect(r.Check(t.Context())).To(MatchError(ContainSubstring("connection refused")))
		w.Expect(w.requests.Load()).To(BeNumerically("<", 60))
		r.connect(true)
		w.pass(time.Minute)
		w.allTrustAll(r)
		w.Expect(r.Bundle(t.Context())).To(Equal(r.Current().Bundle))
	})
}

func TestBundleOfAnEmptySecret(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.start(0)
		r.end()
		w.put(map[string][]byte{keyPrivate: []byte("hunter2")})
		_, err := r.Bundle(t.Context())
		w.Expect(err).To(MatchError(And(ContainSubstring("convoy-system/convoy-ca"), Not(ContainSubstring("hunter2")))))
	})
}
