// SPDX-License-Identifier: Apache-2.0

package clusterconn

import (
	"bytes"
	"compress/gzip"
	"context"
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
	const events = 20
	event := `{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","annotations":{"a":"%s"}}}}` + "\n"
	f := newFakeCluster(t)
	f.handle = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; a=protobuf")
		for range events {
			_, _ = fmt.Fprintf(w, event, strings.Repeat(`}\"`, maxObject/4))
		}
		_, _ = io.WriteString(w, `{"type":`+strings.Repeat("\n", maxObject)+`"ADDED"}`)
	}
	connection, _ := connect(t, f)
	stream, err := connection.REST().Get().AbsPath("/api/v1/configmaps").
		VersionedParams(&metav1.ListOptions{Watch: true}, metav1.ParameterCodec).Stream(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = stream.Close() }()
	n, err := io.Copy(io.Discard, stream)
	g.Expect(n).To(BeNumerically(">", events*maxObject/2))
	g.Expect(err).To(MatchError(ContainSubstring("an event of ")))
}

func TestBoundsOfAnswers(t *testing.T) {
	for _, test := range []struct {
		request string
		want    int64
	}{
		{"GET /version", maxShortAnswer},
		{"GET /livez", maxShortAnswer},
		{"GET /api", maxList},
		{"GET /apis/apps/v1", maxList},
		{"GET /openapi/v3/apis/apps/v1", maxList},
		{"GET /api/v1/namespaces", maxList},
		{"GET /api/v1/namespaces/shop", maxObject},
		{"GET /api/v1/namespaces/shop/configmaps", maxList},
		{"DELETE /api/v1/namespaces/shop/configmaps", maxList},
		{"POST /api/v1/namespaces/shop/configmaps", maxObject},
		{"GET /api/v1/namespaces/shop/configmaps/a", maxObject},
		{"PATCH /apis/apps/v1/namespaces/shop/deployments/a", maxObject},
		{"DELETE /apis/apps/v1/namespaces/shop/deployments/a", maxObject},
		{"GET /apis/apps/v1/namespaces/shop/deployments/a/scale", maxObject},
		{"GET /anything", maxObject},
	} {
		method, path, _ := strings.Cut(test.request, " ")
		NewWithT(t).Expect(boundOf(method, path)).To(Equal(test.want), test.request)
	}
}

// What is asked for by each client is bounded by what it becomes, and said so by a type.
func TestAnswersOfManyValuesAreBounded(t *testing.T) {
	for _, test := range []struct {
		name        string
		contentType string
		body        string
		get         func(context.Context, *Connection) error
		want        OmegaMatcher
	}{
		{"an object of text", "application/json", object(`"` + strings.Repeat("a", maxObject/2) + `"`), getObject, Succeed()},
		{"an object of more", "application/json", object(`"` + strings.Repeat("a", maxObject) + `"`), getObject, beTooLarge()},
		{"an object of objects", "application/json", object("[" + strings.Repeat(`{"":0},`, 1<<20) + "0]"), getObject, beTooLarge()},
		{"an object of lists", "application/json", object("[" + strings.Repeat(`[],`, 1<<20) + "0]"), getObject, beTooLarge()},
		{"an object of numbers", "application/json", object("[" + strings.Repeat(`0,`, 2<<20) + "0]"), getObject, beTooLarge()},
		{"metadata", "application/json", `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[` + strings.Repeat("{},", 1<<20) + `{}]}`, listMetadata, beTooLarge()},
		{"protobuf", "application/vnd.kubernetes.protobuf", "k8s\x00" + strings.Repeat("\x12\x00", 8), listMetadata, MatchError(ContainSubstring("was asked for JSON"))},
		{"YAML", "application/yaml", "a: &a []", listMetadata, MatchError(ErrUnreachable)},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			f := newFakeCluster(t)
			f.handle = func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", test.contentType)
				_, _ = io.WriteString(w, test.body)
			}
			connection, _ := connect(t, f)
			g.Expect(test.get(t.Context(), connection)).To(test.want)
			g.Expect(f.lastRequest().Header.Get("Accept")).NotTo(ContainSubstring("protobuf"))
		})
	}
}

func object(data string) string {
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":` + data + `}`
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func getObject(ctx context.Context, c *Connection) error {
	_, err := c.Dynamic().Resource(configMaps).Namespace("shop").Get(ctx, "a", metav1.GetOptions{})
	return err
}

func listMetadata(ctx context.Context, c *Connection) error {
	_, err := c.Metadata().Resource(configMaps).List(ctx, metav1.ListOptions{})
	return err
}

func beTooLarge() OmegaMatcher {
	return WithTransform(func(err error) bool {
		_, ok := errors.AsType[*AnswerTooLargeError](err)
		return ok && !errors.Is(Classify(err), ErrUnreachable)
	}, BeTrue())
}

// An error that is not JSON is told by its status code.
func TestErrorsThatAreNoJSON(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	f.handle = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "apiVersion: v1\nkind: Status\nstatus: Failure\nreason: NotFound\ncode: 404\n")
	}
	connection, _ := connect(t, f)
	g.Expect(Classify(listMetadata(t.Context(), connection))).To(MatchError(ErrForbidden))
}

func TestIdentitiesRememberedAreBounded(t *testing.T) {
	g := NewWithT(t)
	f := newFakeCluster(t)
	connection, _ := connect(t, f)
	tt, err := newTarget(connection.Config(), agentless(), newBuilding(), Options{Clock: newFakeClock()})
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
