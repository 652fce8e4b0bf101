// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestCompressedAnswersAreBounded(t *testing.T) {
	g := NewWithT(t)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := io.WriteString(z, `{"gitVersion":"`+strings.Repeat("a", maxShortAnswer)+`"}`)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(z.Close()).To(Succeed())
	f := newFakeCluster(t)
	f.handle = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	}
	connection, _ := connect(t, f)

	_, err = connection.Probe(t.Context())

	g.Expect(err).To(MatchError(ErrUnreachable))
	var tooLarge *AnswerTooLargeError
	g.Expect(errors.As(err, &tooLarge)).To(BeTrue())
	g.Expect(err.Error()).To(ContainSubstring("/version: more than 256Ki"))
	g.Expect(connection.breaker.outageOver()).To(BeNil(), "the server answers")
}

func TestHeadersOfAnswersAreBounded(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	f.handle = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != questionPath {
			w.Header().Set("Filler", strings.Repeat("a", 2*maxHeaderBytes))
		}
		f.discover(w, r)
	}
	connection, _ := connect(t, f)
	_, err := connection.Probe(t.Context())
	g.Expect(err).To(MatchError(ErrUnreachable))
}

// Space that is in an event counts, ends of lines among it; the stream as a whole is not bounded.
func TestEventsAreBounded(t *testing.T) {
	g := NewWithT(t)
	event := `{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","annotations":{"a":"%s"}}}}` + "\n"
	f := newFakeCluster(t)
	f.handle = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; a=protobuf")
		for range 2 {
			_, _ = fmt.Fprintf(w, event, strings.Repeat(`}\"`, maxEvent/4))
		}
		_, _ = io.WriteString(w, `{"type":`+strings.Repeat("\n", maxEvent)+`"ADDED"}`)
	}
	connection, _ := connect(t, f)
	stream, err := connection.REST().Get().AbsPath("/api/v1/configmaps").
		VersionedParams(&metav1.ListOptions{Watch: true}, metav1.ParameterCodec).Stream(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = stream.Close() }()
	n, err := io.Copy(io.Discard, stream)
	g.Expect(n).To(BeNumerically(">", maxEvent))
	g.Expect(err).To(MatchError(ContainSubstring("an event of ")))
}

func TestAnswersOfATargetAreBoundedTogether(t *testing.T) {
	g := NewWithT(t)
	one := &budget{bound: 10, what: "all"}
	open := func() *boundedBody {
		return &boundedBody{ReadCloser: io.NopCloser(strings.NewReader("123456")), bound: 8, budgets: []*budget{one}}
	}
	first, second := open(), open()
	_, err := io.ReadAll(first)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = io.ReadAll(second)
	g.Expect(err).To(MatchError(ContainSubstring("more than 10")))
	g.Expect(first.Close()).To(Succeed())
	g.Expect(second.Close()).To(Succeed())
	g.Expect(second.Close()).To(Succeed())
	g.Expect(one.used.Load()).To(BeZero())
	_, err = io.ReadAll(open())
	g.Expect(err).NotTo(HaveOccurred())
}

func TestIdentitiesRememberedAreBounded(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	connection, _ := connect(t, f)
	tt, err := newTarget(connection.Config(), agentless(), Options{Clock: newFakeClock()})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(tt.close)
	first, err := tt.connection("user-0")
	g.Expect(err).NotTo(HaveOccurred())
	for i := range 2 * maxConnections {
		_, err := tt.connection(fmt.Sprintf("user-%d", i))
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(tt.connections.Len()).To(Equal(maxConnections))
	_, err = first.Mapping(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	g.Expect(err).NotTo(HaveOccurred(), "one that is forgotten works on")
}
