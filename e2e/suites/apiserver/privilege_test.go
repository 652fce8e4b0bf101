// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/manifests"
)

// unusedRights are the rights of config/ that a run of a Release may do without, each with the
// reason why it is there nevertheless. A right that is neither used nor named here is one too many.
var unusedRights = map[string]map[string]string{
	apiServer: {
		"patch flowschemas/status.flowcontrol.apiserver.k8s.io": "written when a FlowSchema names a priority level that does not exist",
	},
	installation.ControllerManager: {
		"patch events": "an event that is told again is counted, not created",
	},
	installation.Observer: {},
}

// An informer lists where it cannot watch from the beginning, and gets nothing; the three
// verbs are one right to read.
var informers = []string{"get", "list"}

var _ = Describe("The rights of convoy's processes on the host", Ordered, ContinueOnFailure, func() {
	var used map[string]map[string]bool
	var refused []string

	BeforeAll(func(ctx SpecContext) {
		begun := time.Now()
		observing, stop := suite.startControllers(ctx)
		d := suite.prepare(ctx)
		d.observing = observing
		d.create(ctx)
		d.approve(ctx)
		d.finishHook(ctx)
		d.awaitDelivered(ctx, "one")
		d.drift(ctx)
		d.awaitDelivered(ctx, "one")
		d.ask(ctx)
		d.commit(ctx, chart("two"))
		Expect(d.admin.post(ctx, releasePath(d.namespace, "app", "sync"), nil).code).To(Equal(200))
		d.approve(ctx)
		d.finishHook(ctx)
		d.awaitDelivered(ctx, "two")
		d.remove(ctx)
		stop(ctx)
		used, refused = suite.requests(begun)
	}, NodeTimeout(3*time.Minute))

	It("are enough for the delivery of a Release, from its creation to its end", func() {
		Expect(refused).To(BeEmpty())
	})

	for _, name := range []string{apiServer, installation.ControllerManager, installation.Observer} {
		It("are no more than "+name+" uses", func() {
			var excess, needless []string
			granted := suite.granted(name)
			for right := range granted {
				if !used[name][right] && unusedRights[name][right] == "" && !coveredByWatch(right, used[name]) {
					excess = append(excess, right)
				}
			}
			for right := range unusedRights[name] {
				if !granted[right] {
					needless = append(needless, right)
				}
			}
			slices.Sort(excess)
			Expect(excess).To(BeEmpty(), "rights that were not used")
			Expect(needless).To(BeEmpty(), "reasons for what is not granted")
		})
	}
})

// coveredByWatch tells whether a right to get or list belongs to a watch that is used.
func coveredByWatch(right string, used map[string]bool) bool {
	verb, resource, _ := strings.Cut(right, " ")
	return slices.Contains(informers, verb) && used["watch "+resource]
}

// granted are the rights that config/ gives to a process by roles of its own.
func (r *rig) granted(name string) map[string]bool {
	GinkgoHelper()
	folder := strings.TrimPrefix(name, "convoy-")
	objects, err := manifests.ReadFolder(filepath.Join(r.config, folder))
	Expect(err).NotTo(HaveOccurred())
	granted := map[string]bool{}
	for _, o := range objects {
		if kind := o.GetKind(); kind != "ClusterRole" && kind != "Role" {
			continue
		}
		var role rbacv1.Role
		Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role)).To(Succeed())
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, right := range all(group, rule.Resources, rule.Verbs) {
					granted[strings.TrimSuffix(right, ".")] = true
				}
			}
		}
	}
	return granted
}

// requests tells from the host's audit log what convoy's processes asked for, by their names,
// and what was refused since a time. Parameters of admission policies are no right of
// convoy-apiserver's: another spec makes it ask for them.
func (r *rig) requests(since time.Time) (used map[string]map[string]bool, refused []string) {
	GinkgoHelper()
	used = map[string]map[string]bool{apiServer: {}, installation.ControllerManager: {}, installation.Observer: {}}
	denied := map[string]bool{}
	for _, e := range readAudit(r.path("host", "audit.log")) {
		name, ours := strings.CutPrefix(e.User.Username, "system:serviceaccount:"+system+":")
		if !ours || e.ObjectRef.Resource == "" || used[name] == nil {
			continue
		}
		right := e.Verb + " " + e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			right += "/" + e.ObjectRef.Subresource
		}
		right = strings.TrimSuffix(right+"."+e.ObjectRef.APIGroup, ".")
		if e.Annotations["authorization.k8s.io/decision"] == "forbid" {
			if e.StageTimestamp.Before(since) || name == apiServer && e.ObjectRef.Resource == "configmaps" {
				continue
			}
			denied[name+" may not "+right+" "+e.ObjectRef.Namespace+"/"+e.ObjectRef.Name] = true
			continue
		}
		used[name][right] = true
	}
	return used, slices.Sorted(maps.Keys(denied))
}
