// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"kumodo.io/convoy/client/informers/externalversions"
)

// backup is a way to keep what is in an etcd.
type backup struct {
	name string
	// save writes it into a file. etcd runs meanwhile, unless the backup is a cold one.
	save func(ctx context.Context, e *etcd, file string)
	cold bool
	// restore are flags of the tool that are needed for this backup alone.
	restore []string
}

var backups = []backup{
	{
		name: "a snapshot",
		save: func(ctx context.Context, e *etcd, file string) {
			run(ctx, filepath.Join(suite.assets, "etcdctl"), "--endpoints="+e.url(), "--cacert="+suite.host.CA().CertFile(), "--cert="+e.client.CertFile, "--key="+e.client.KeyFile,
				"snapshot", "save", file)
		},
	},
	{
		name: "a copy of the file of the stopped etcd", cold: true, restore: []string{"--skip-hash-check"},
		save: func(ctx context.Context, e *etcd, file string) {
			run(ctx, "cp", filepath.Join(e.data(), "member", "snap", "db"), file)
		},
	},
}

// restoreTo makes the data folder of a stopped etcd from a file, as docs/operations.md says.
func (b backup) restoreTo(ctx context.Context, e *etcd, file string) {
	GinkgoHelper()
	run(ctx, filepath.Join(suite.assets, "etcdutl"), append([]string{"snapshot", "restore", file, "--data-dir=" + e.data(),
		"--name=default", "--initial-cluster=default=" + e.peer, "--initial-advertise-peer-urls=" + e.peer,
		"--bump-revision=1000000000", "--mark-compacted"}, b.restore...)...)
}

// run runs a program that has to succeed.
func run(ctx context.Context, program string, args ...string) {
	GinkgoHelper()
	output, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s %v: %s", program, args, output)
	fmt.Fprintf(GinkgoWriter, "%s %v\n%s\n", program, args, output)
}

var _ = Describe("The etcd of convoy", func() {
	for _, b := range backups {
		It("is brought back from "+b.name, func(ctx SpecContext) {
			DeferCleanup(func(ctx SpecContext) { suite.restored(ctx) })
			namespace := suite.namespace(ctx)
			names := suite.follow(namespace)
			before := suite.furnish(ctx, namespace)
			Eventually(names).Should(ConsistOf("early", "changed", "owned", "owned-2"))

			By("saving it")
			file := suite.path("backup-" + namespace + ".db")
			if b.cold {
				suite.stopAll(ctx)
			}
			b.save(ctx, suite.etcd, file)
			suite.restored(ctx)

			By("going on: one Release is deleted, one changed, one made, and an owner goes")
			Expect(suite.admin.remove(ctx, releasePath(namespace, "early")).code).To(Equal(http.StatusOK))
			Expect(suite.admin.patch(ctx, releasePath(namespace, "changed"), `{"spec":{"wave":9}}`).code).To(Equal(http.StatusOK))
			suite.createRelease(ctx, namespace, "late")
			suite.ownedBy(ctx, namespace, "late", "of-late")
			suite.ownedBy(ctx, namespace, "changed", "of-changed")
			Expect(suite.kube.CoreV1().ConfigMaps(namespace).Delete(ctx, "owner-2", metav1.DeleteOptions{})).To(Succeed())
			Eventually(names).Should(ConsistOf("changed", "late", "owned"))

			By("restoring it")
			suite.stopAll(ctx)
			Expect(os.Rename(suite.etcd.data(), suite.etcd.data()+"-before-"+namespace)).To(Succeed())
			b.restoreTo(ctx, suite.etcd, file)
			back := time.Now()
			suite.restored(ctx)
			AddReportEntry("etcd and two replicas were up and served after", time.Since(back).Round(10*time.Millisecond).String())

			By("everything is as it was, with its UIDs")
			Expect(suite.admin.get(ctx, releasePath(namespace, "late")).code).To(Equal(http.StatusNotFound))
			for _, name := range []string{"early", "changed", "owned"} {
				now := suite.readRelease(ctx, namespace, name)
				Expect(field(now, "metadata.uid")).To(Equal(field(before[name], "metadata.uid")), name)
				Expect(field(now, "spec")).To(Equal(field(before[name], "spec")), name)
			}

			By("whoever watched sees it, without a restart")
			suite.tell(ctx, "an informer has caught up", back, func() error {
				got := slices.DeleteFunc(names(), func(name string) bool { return name == "owned-2" }) // it goes when it is collected
				if !slices.Equal(got, []string{"changed", "early", "owned"}) {
					return fmt.Errorf("it has %v", got)
				}
				return nil
			})
			suite.createRelease(ctx, namespace, "new")
			Eventually(names).Should(ContainElement("new"))

			By("restarting the host's controllers: the garbage collector knows what it deleted, and would not look at it again")
			Expect(suite.host.RestartControllers(ctx)).To(Succeed())
			suite.tell(ctx, "a restored Release whose owner has gone meanwhile is collected", back, func() error {
				if got := suite.admin.get(ctx, releasePath(namespace, "owned-2")); got.code != http.StatusNotFound {
					return fmt.Errorf("%s", got)
				}
				return nil
			})
			suite.tell(ctx, "what a Release owned that is younger than the backup is collected", back, func() error {
				return suite.gone(ctx, namespace, "of-late")
			})
			Expect(suite.gone(ctx, namespace, "of-changed")).NotTo(Succeed(), "the owner has its UID still")
		}, NodeTimeout(15*time.Minute))
	}
})

// stopAll stops convoy-apiserver and its etcd.
func (r *rig) stopAll(ctx context.Context) {
	GinkgoHelper()
	for _, one := range r.replicas {
		Expect(one.Stop(ctx)).To(Succeed())
	}
	Expect(r.etcd.Stop(ctx)).To(Succeed())
}

// furnish makes Releases, and returns them: two by themselves, two with an owner on the host.
func (r *rig) furnish(ctx context.Context, namespace string) map[string]object {
	GinkgoHelper()
	made := map[string]object{"early": r.createRelease(ctx, namespace, "early"), "changed": r.createRelease(ctx, namespace, "changed")}
	for owner, name := range map[string]string{"owner": "owned", "owner-2": "owned-2"} {
		r.createOwned(ctx, namespace, owner, func(reference metav1.OwnerReference) {
			got := r.admin.post(ctx, releasesPath(namespace), with(newRelease(namespace, name), "metadata.ownerReferences", []any{reference}))
			Expect(got.code).To(Equal(http.StatusCreated), got.body)
			made[name] = got.object()
		})
	}
	return made
}

// ownedBy makes a ConfigMap that a Release owns.
func (r *rig) ownedBy(ctx context.Context, namespace, release, name string) {
	GinkgoHelper()
	owner := r.readRelease(ctx, namespace, release)
	got := r.admin.post(ctx, "/api/v1/namespaces/"+namespace+"/configmaps", object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name, "ownerReferences": []any{object{
			"apiVersion": coreGroup + "/v1alpha1", "kind": "Release", "name": release, "uid": field(owner, "metadata.uid")}}},
	})
	Expect(got.code).To(Equal(http.StatusCreated), got.body)
}

// follow keeps an informer on the Releases of a namespace for the spec, as controllers do, and
// gives a function that tells the names that it has.
func (r *rig) follow(namespace string) func() []string {
	GinkgoHelper()
	factory := externalversions.NewSharedInformerFactoryWithOptions(r.api, 0, externalversions.WithNamespace(namespace))
	releases := factory.Core().V1alpha1().Releases()
	informer := releases.Informer()
	ctx, stop := context.WithCancel(context.Background())
	DeferCleanup(func() {
		stop()
		factory.Shutdown()
	})
	factory.Start(ctx.Done())
	Expect(cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)).To(BeTrue())
	return func() []string {
		var names []string
		list, _ := releases.Lister().List(labels.Everything())
		for _, release := range list {
			names = append(names, release.Name)
		}
		slices.Sort(names)
		return names
	}
}
