// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// TestRevertOfWhatWasNotMadeForTheRelease: what somebody else made, whoever it is and however it came
// to be the Release's, is there after the Release has gone back.
func TestRevertOfWhatWasNotMadeForTheRelease(t *testing.T) {
	object := settings("{k: ours}")
	unnoted := ahead(object)
	unnoted.Adopted = true
	theirs := func(t *testing.T, s *apiServer) corev1alpha1.InventoryEntry {
		e := apply1(t, asOther(s), settings("{k: theirs}"))
		s.age(settingsPath)
		return e
	}
	byHand := func(s *apiServer) {
		s.put(settingsPath, "kubectl-create", settings("{k: hand}").Object)
		s.age(settingsPath)
	}
	tests := []struct {
		name  string
		given func(g Gomega, t *testing.T, s *apiServer) Others
	}{
		{"another Release's, which is about to have it no more", func(_ Gomega, t *testing.T, s *apiServer) Others {
			theirs(t, s)
			return neighbourhood{standing: map[string]Standing{"team/other": Leaves}}
		}},
		{"another Release's, which handed it over", func(g Gomega, t *testing.T, s *apiServer) Others {
			e := theirs(t, s)
			all := neighbourhood{standing: map[string]Standing{"team/other": Holds, "team/shop": Holds}}
			g.Expect(among(all, s, release(), unnoted).Apply(t.Context(), []render.Object{object})[0].Err).To(HaveOccurred())
			g.Expect(among(all, s, release(named("other")), e).Prune(t.Context(), []corev1alpha1.InventoryEntry{e})[0].Heir.Name).To(Equal("shop"))
			return all
		}},
		{"orphaned by a Release that was deleted", func(_ Gomega, t *testing.T, s *apiServer) Others {
			e := theirs(t, s)
			applier(s, release(named("other")), e).Orphan(t.Context(), []corev1alpha1.InventoryEntry{e})
			return nil
		}},
		{"made by hand", func(_ Gomega, _ *testing.T, s *apiServer) Others {
			byHand(s)
			return nil
		}},
		{"made by hand, and refused when it was about to be taken over", func(g Gomega, t *testing.T, s *apiServer) Others {
			byHand(s)
			s.refuse = func(r request) *metav1.Status {
				if r.verb == "apply" && r.live != nil {
					return statusf(http.StatusForbidden, metav1.StatusReasonForbidden, "denied by a webhook")
				}
				return nil
			}
			g.Expect(applier(s, release(), unnoted).Apply(t.Context(), []render.Object{object})[0].Err).To(HaveOccurred())
			s.refuse = nil
			return nil
		}},
		{"made by hand, and written while it was taken over", func(_ Gomega, _ *testing.T, s *apiServer) Others {
			byHand(s)
			s.before = func(r request) {
				if uid, _, _ := unstructured.NestedString(r.body, "metadata", "uid"); r.verb == "apply" && uid != "" {
					s.before = nil
					s.change(settingsPath, func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"status": "written"}) })
				}
			}
			return nil
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			others := tt.given(g, t, s)
			before := s.get(settingsPath).GetUID()

			applied := among(others, s, release(), unnoted).Apply(t.Context(), []render.Object{object})[0]

			g.Expect(applied.Err).NotTo(HaveOccurred())
			g.Expect(applied).To(And(HaveField("UID", before), HaveField("Adopted", BeTrue())))
			e := ahead(object)
			e.UID, e.Digest, e.Adopted = applied.UID, applied.Digest, applied.Adopted
			result := applier(s, release(), e).Revert(t.Context(), []corev1alpha1.InventoryEntry{e})[0]
			g.Expect(result.Err).NotTo(HaveOccurred())
			g.Expect(result.Kept).To(BeTrue())
			g.Expect(s.get(settingsPath).GetUID()).To(Equal(before))
		})
	}
}
