// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/render"
)

// neighbourhood is what is known of other Releases: how those named here stand to every
// object, all others being absent.
type neighbourhood struct {
	standing map[string]Standing
	err      error
	owner    string // of whatever is asked for
	inside   string // the Release with an object in every namespace
	kinds    []schema.GroupVersionKind
}

func (n neighbourhood) Kinds(context.Context, string) ([]schema.GroupVersionKind, error) {
	return n.kinds, nil
}

func (n neighbourhood) Standing(_ context.Context, name types.NamespacedName, _ corev1alpha1.ObjectKey) (Standing, error) {
	if standing, ok := n.standing[name.String()]; ok {
		return standing, n.err
	}
	return Absent, n.err
}

func (n neighbourhood) Owner(corev1alpha1.ObjectKey, types.UID) (types.NamespacedName, bool) {
	return types.NamespacedName{Namespace: "team", Name: n.owner}, n.owner != ""
}

func (n neighbourhood) Inside(string) (types.NamespacedName, corev1alpha1.ObjectKey, bool) {
	return types.NamespacedName{Namespace: "team", Name: n.inside}, settings("{}").Key(), n.inside != ""
}

func among(others Others, s *apiServer, r *corev1alpha1.Release, inventory ...corev1alpha1.InventoryEntry) *Applier {
	return New(s, Options{Installation: installation, Release: r, Inventory: inventory, Others: others})
}

const other, own = "home/team/other", "home/team/shop"

func owner(s *apiServer) string {
	return s.get(settingsPath).GetAnnotations()[corev1alpha1.AnnotationRelease]
}

func claimant(s *apiServer) string {
	return s.get(settingsPath).GetAnnotations()[corev1alpha1.AnnotationClaimedBy]
}

// TestApplyOverAnother applies an object that another Release has applied.
func TestApplyOverAnother(t *testing.T) {
	standing := func(s Standing) neighbourhood {
		return neighbourhood{standing: map[string]Standing{"team/other": s}}
	}
	create, read, write, claim := "apply "+settingsPath, "get "+settingsPath, "apply "+settingsPath, "merge "+settingsPath
	tests := []struct {
		name                       string
		others                     Others
		claimed                    string
		conflict                   bool
		wantOwner, wantClaim, text string
		requests                   string
	}{
		{"it has it", standing(Holds), "", true, other, own, "Release team/other, which hands it over", lines(create, read, claim)},
		{"it has it, and it is claimed already", standing(Holds), own, true, other, own, "hands it over", lines(create, read)},
		{"a third one claims it", neighbourhood{standing: map[string]Standing{"team/other": Holds, "team/third": Holds}}, "home/team/third",
			true, other, "home/team/third", "take it out of one of the two Releases; one that is deleted", lines(create, read)},
		{"a third one claimed it, and is gone", standing(Holds), "home/team/third", true, other, own, "hands it over", lines(create, read, claim)},
		{"it is about to have it no more", standing(Leaves), "", false, own, "", "", lines(create, read, write)},
		{"the same, after it was claimed", standing(Leaves), own, false, own, "", "", lines(create, read, claim, write)},
		{"it does not have it", standing(Absent), "", false, own, "", "", lines(create, read, write)},
		{"nothing is known of others", nil, "", true, other, "", "one that is deleted with deletionPolicy orphan", lines(create, read)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			before := apply1(t, asOther(s), settings("{k: theirs, old: x}"))
			if tt.claimed != "" {
				s.change(settingsPath, annotate(corev1alpha1.AnnotationClaimedBy, tt.claimed))
			}
			s.asked()
			o := settings("{k: ours}")
			a := among(tt.others, s, release(), ahead(o))
			if tt.others == nil {
				a = applier(s, release(), ahead(o))
			}

			result := a.Apply(context.Background(), []render.Object{o})[0]

			g.Expect(lines(s.asked()...)).To(Equal(tt.requests))
			g.Expect(owner(s)).To(Equal(tt.wantOwner))
			g.Expect(claimant(s)).To(Equal(tt.wantClaim))
			if tt.conflict {
				g.Expect(Reason(result.Err)).To(Equal(corev1alpha1.ReasonOwnershipConflict))
				g.Expect(result.Err).To(MatchError(ContainSubstring(tt.text)))
				return
			}
			g.Expect(result.Err).NotTo(HaveOccurred())
			g.Expect(result.UID).To(Equal(before.UID), "the object is the same one")
			g.Expect(result.Adopted).To(BeTrue(), "the other Release's, which made it")
			g.Expect(s.get(settingsPath).Object["data"]).To(Equal(map[string]any{"k": "ours"}))
		})
	}
}

// An object of another installation is never claimed: nobody could tell it who asks.
func TestApplyOverAnotherInstallation(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	apply1(t, New(s, Options{Installation: "elsewhere", Release: release()}), settings("{k: theirs}"))
	o := settings("{k: ours}")

	err := among(neighbourhood{}, s, release(), ahead(o)).Apply(context.Background(), []render.Object{o})[0].Err

	g.Expect(err).To(MatchError(ContainSubstring("of another convoy (installation elsewhere)")))
	g.Expect(claimant(s)).To(BeEmpty())
}

func TestApplyThatCannotBeToldWhoseItIs(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	apply1(t, asOther(s), settings("{k: theirs}"))
	o := settings("{k: ours}")
	down := errors.New("host down")

	err := among(neighbourhood{err: down}, s, release(), ahead(o)).Apply(context.Background(), []render.Object{o})[0].Err

	g.Expect(err).To(MatchError(down))
	g.Expect(owner(s)).To(Equal(other))
}

// TestApplyWhatWasLeftHalfWay: an entry without a digest is of an apply, or of a removal, that
// did not get to its end. Its object may have been given away, and is looked at first.
func TestApplyWhatWasLeftHalfWay(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	e := apply1(t, applier(s, release()), settings("{k: v1}"))
	e.Digest = ""
	s.change(settingsPath, annotate(corev1alpha1.AnnotationRelease, other))
	others := neighbourhood{standing: map[string]Standing{"team/other": Holds}}

	err := among(others, s, release(), e).Apply(context.Background(), []render.Object{settings("{k: v2}")})[0].Err

	g.Expect(Reason(err)).To(Equal(corev1alpha1.ReasonOwnershipConflict))
	g.Expect(owner(s)).To(Equal(other))
}

// TestPruneHandsOver prunes an object that others may want.
func TestPruneHandsOver(t *testing.T) {
	holds := map[string]Standing{"team/other": Holds}
	tests := []struct {
		name   string
		others neighbourhood
		claim  string
		given  bool
	}{
		{"nobody wants it", neighbourhood{}, "", false},
		{"a Release that has it in its inventory claims it", neighbourhood{standing: holds}, other, true},
		{"one that is gone claimed it", neighbourhood{}, other, false},
		{"one that is going claimed it", neighbourhood{standing: map[string]Standing{"team/other": Leaves}}, other, false},
		{"one of another installation claims it", neighbourhood{standing: holds}, "elsewhere/team/other", false},
		{"it claims it itself", neighbourhood{standing: map[string]Standing{"team/shop": Holds}}, own, false},
		{"another Release has applied it", neighbourhood{owner: "other"}, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			e := apply1(t, applier(s, release()), settings("{k: v}"))
			if tt.claim != "" {
				s.change(settingsPath, annotate(corev1alpha1.AnnotationClaimedBy, tt.claim))
			}
			namespace := apply1(t, applier(s, release()), rendered("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"))

			result := among(tt.others, s, release(), e, namespace).Prune(context.Background(), []corev1alpha1.InventoryEntry{e})[0]

			g.Expect(result.Err).NotTo(HaveOccurred())
			g.Expect(result.Done()).To(BeTrue())
			if !tt.given {
				g.Expect(s.get(settingsPath)).To(BeNil())
				return
			}
			g.Expect(result.Heir).To(Equal(types.NamespacedName{Namespace: "team", Name: "other"}))
			g.Expect(owner(s)).To(Equal(other))
			g.Expect(claimant(s)).To(BeEmpty())
			g.Expect(s.get(settingsPath).GetUID()).To(Equal(e.UID))
			g.Expect(s.get(settingsPath).GetLabels()).To(HaveKeyWithValue(corev1alpha1.LabelOwner, corev1alpha1.OwnerLabelValue("home", "team", "other")))
			g.Expect(s.get("api/v1/namespaces/shop").GetAnnotations()).NotTo(HaveKey(corev1alpha1.AnnotationPrune), "the namespace is nobody's to protect")
		})
	}
}

// TestPruneSeesALateClaim: a claim that arrives between the read and the deletion counts.
func TestPruneSeesALateClaim(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	e := apply1(t, applier(s, release()), settings("{k: v}"))
	s.before = func(r request) {
		if r.verb == "delete" {
			s.before = nil
			s.change(settingsPath, annotate(corev1alpha1.AnnotationClaimedBy, other))
		}
	}

	result := among(neighbourhood{standing: map[string]Standing{"team/other": Holds}}, s, release(), e).
		Prune(context.Background(), []corev1alpha1.InventoryEntry{e})[0]

	g.Expect(result.Kept).To(BeTrue())
	g.Expect(owner(s)).To(Equal(other))
}

// TestGivingAwayRacesWithTakingTheClaimBack: of the Release that gives the object away and
// the one that wants it no more, the second to write sees what the first did, so that the
// object is never left to one that has it in no inventory.
func TestGivingAwayRacesWithTakingTheClaimBack(t *testing.T) {
	for _, first := range []string{"the claim is taken back", "the object is given away"} {
		t.Run(first, func(t *testing.T) {
			g := NewWithT(t)
			s := newAPIServer(t)
			e := apply1(t, applier(s, release()), settings("{k: v}"))
			s.change(settingsPath, annotate(corev1alpha1.AnnotationClaimedBy, other))
			giver := among(neighbourhood{standing: map[string]Standing{"team/other": Holds}}, s, release(), e)
			wanted := corev1alpha1.InventoryEntry{ObjectKey: e.ObjectKey}
			taker := among(neighbourhood{standing: map[string]Standing{"team/shop": Holds}}, s, release(named("other")), wanted)
			one, two := giver, taker
			if first == "the claim is taken back" {
				one, two = taker, giver
			}
			entries := []corev1alpha1.InventoryEntry{wanted}
			s.before = func(r request) { // when one is about to write, two does it all
				if r.verb == "merge" {
					s.before = nil
					g.Expect(two.Prune(context.Background(), entries)[0].Err).NotTo(HaveOccurred())
				}
			}

			g.Expect(one.Prune(context.Background(), entries)[0].Err).NotTo(HaveOccurred())

			g.Expect(s.get(settingsPath)).To(BeNil(), "neither wants it")
		})
	}
}

func TestOrphanedObjectsLoseTheirClaims(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	e := apply1(t, applier(s, release()), settings("{k: v}"))
	s.change(settingsPath, annotate(corev1alpha1.AnnotationClaimedBy, other))
	applier(s, release(), e).Orphan(context.Background(), []corev1alpha1.InventoryEntry{e})
	g.Expect(s.get(settingsPath).GetAnnotations()).To(Or(BeEmpty(), Not(HaveKey(corev1alpha1.AnnotationClaimedBy))))
}

// A namespace stays when another Release has something in it, which would go with it.
func TestPruneKeepsANamespaceWithObjectsOfOthers(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	e := apply1(t, applier(s, release()), rendered("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"))

	result := among(neighbourhood{inside: "other"}, s, release(), e).Prune(context.Background(), []corev1alpha1.InventoryEntry{e})[0]

	g.Expect(result.Kept).To(BeTrue())
	g.Expect(result.Message).To(Equal("kept, because objects of Release team/other are in it, such as ConfigMap shop/settings"))
	g.Expect(s.get("api/v1/namespaces/shop")).NotTo(BeNil())
}

// TestANamespaceStaysForWhatWasHandedOver: the heir has not noted yet that it has the object.
func TestANamespaceStaysForWhatWasHandedOver(t *testing.T) {
	g := NewWithT(t)
	s := newAPIServer(t)
	e := apply1(t, applier(s, release()), settings("{k: v}"))
	namespace := apply1(t, applier(s, release()), rendered("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"))
	s.change(settingsPath, annotate(corev1alpha1.AnnotationClaimedBy, other))
	heir := neighbourhood{standing: map[string]Standing{"team/other": Holds}, kinds: []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}}}
	a := among(heir, s, release(), e, namespace)

	g.Expect(a.Prune(t.Context(), []corev1alpha1.InventoryEntry{e})[0].Heir.Name).To(Equal("other"))
	result := a.Prune(t.Context(), []corev1alpha1.InventoryEntry{namespace})[0]

	g.Expect(result.Message).To(Equal("kept, because objects of Release team/other are in it, such as ConfigMap shop/settings"))
	g.Expect(s.get(settingsPath)).NotTo(BeNil())
}
