// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
)

// pastOf is the answer of a past render with objects.
func pastOf(objects ...string) *corev1alpha1.ReleaseHistory {
	history := &corev1alpha1.ReleaseHistory{Entries: []corev1alpha1.HistoryEntry{}}
	for _, object := range objects {
		history.Objects = append(history.Objects, runtime.RawExtension{Raw: []byte(object)})
	}
	return history
}

func TestYAMLIsThatOfTheWhole(t *testing.T) {
	for name, object := range map[string]reply{
		"lists that are empty": &corev1alpha1.ReleaseDiff{Objects: []corev1alpha1.ObjectDiff{}},
		"lists of objects":     pastOf(`{"kind":"ConfigMap","data":{"yes":"no","b":"1","c":"a\n\nb \n"}}`, `{"a":[[],{},[1,-2.5,1e30,null,true,"é\u2028"]]}`),
		"no list":              &corev1alpha1.ReleaseValues{Revision: "1", Values: runtime.RawExtension{Raw: []byte(`{"a":{"b":"[x"}}`)}},
		"diffs": &corev1alpha1.ReleaseDiff{From: "live", Objects: []corev1alpha1.ObjectDiff{
			{Unified: "@@ -1 +1 @@\n-a: \"1\"\n+a: 2\n", Message: strings.Repeat("long ", 100)}, {},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			object.GetObjectKind().SetGroupVersionKind(corev1alpha1.SchemeGroupVersion.WithKind("Answer"))
			object.SetName("app")
			written, err := formatYAML.encode(t.Context(), object)
			g.Expect(err).NotTo(HaveOccurred())
			whole, err := yaml.Marshal(object)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(written)).To(Equal(string(whole)))
		})
	}
}

// What an encoder of YAML takes for each value is some hundred times as much as the value, and a
// request for JSON can tell the same.
func TestWhatIsTooLargeForYAML(t *testing.T) {
	list := func(values int) string { return `{"a":[` + strings.Repeat("1,", values-1) + `1]}` }
	text := func(bytes int) string { return `{"a":"` + strings.Repeat(`,\":[{`, bytes/6) + `"}` }
	for _, test := range []struct {
		name, object string
		refused      bool
	}{
		{"many values", list(maxPieceValues - 5), false},
		{"too many", list(maxPieceValues + 1), true},
		{"a text of what looks like values", text(maxPieceValues * 12), false},
		{"too many bytes", text(maxPiece), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			object := pastOf(`{"kind":"ConfigMap"}`, test.object)
			_, err := formatJSON.encode(t.Context(), object)
			g.Expect(err).NotTo(HaveOccurred())
			for _, f := range []format{formatYAML, formatText} {
				_, err := f.encode(t.Context(), object)
				if !test.refused {
					g.Expect(err).NotTo(HaveOccurred())
					continue
				}
				g.Expect(apierrors.IsRequestEntityTooLargeError(err)).To(BeTrue())
				g.Expect(err).To(MatchError("objects[1] of the answer has more than 100000 values or 8388608 bytes, and is not written as YAML: ask for JSON"))
			}
		})
	}
}

func TestTheAnswerToARequestForTooMuchYAML(t *testing.T) {
	w := newWorld(t)
	values := make([]any, maxPieceValues)
	object := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "ns", "name": "cm"}, "data": values}
	manifest, err := json.Marshal(object)
	w.Expect(err).NotTo(HaveOccurred())
	w.byDigest["sha256:old"] = rendered("sha256:old", string(manifest))
	w.release.Status.History = []corev1alpha1.HistoryEntry{{ID: 4, Render: "sha256:old"}}
	for output, code := range map[string]int{"json": http.StatusOK, "yaml": http.StatusRequestEntityTooLarge, "text": http.StatusRequestEntityTooLarge} {
		recorder := httptest.NewRecorder()
		w.server.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/history/ns/app?id=4&output="+output, nil))
		w.Expect(recorder.Code).To(Equal(code), output)
		if code != http.StatusOK {
			w.Expect(recorder.Body.String()).To(ContainSubstring("ask for JSON"))
		}
	}
}

func TestEncodingEndsWithTheRequest(t *testing.T) {
	objects := map[format]reply{
		formatYAML: &corev1alpha1.ReleaseDiff{Objects: []corev1alpha1.ObjectDiff{}},
		formatText: &corev1alpha1.ReleasePreview{Revision: "1"},
	}
	for f, object := range objects {
		t.Run(string(f), func(t *testing.T) {
			g := NewWithT(t)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := f.encode(ctx, object)
			g.Expect(err).To(MatchError(context.Canceled))
		})
	}
	t.Run("while others are written", func(t *testing.T) {
		g := NewWithT(t)
		yamlTurn <- struct{}{}
		defer func() { <-yamlTurn }()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := formatYAML.encode(ctx, objects[formatYAML])
			ended <- err
		}()
		g.Consistently(ended, "20ms").ShouldNot(Receive())
		cancel()
		g.Expect(<-ended).To(MatchError(context.Canceled))
	})
}

func TestWhatIsWrittenIsBounded(t *testing.T) {
	g := NewWithT(t)
	out := &bounded{ctx: t.Context(), limit: 10}
	for _, part := range []string{"12345", "67890", "1"} {
		n, err := out.Write([]byte(part))
		if part != "1" {
			g.Expect(n, err).To(Equal(5))
			continue
		}
		g.Expect(apierrors.ReasonForError(err)).To(Equal(metav1.StatusReasonRequestEntityTooLarge))
	}
	g.Expect(out.String()).To(Equal("1234567890"))
	g.Expect(apierrors.ReasonForError(out.err)).To(Equal(metav1.StatusReasonRequestEntityTooLarge), "also when nobody looked")
	_, err := out.Write(nil)
	g.Expect(err).To(MatchError(out.err), "nothing follows what is missing")
}
