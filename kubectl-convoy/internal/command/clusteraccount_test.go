// SPDX-License-Identifier: Apache-2.0

package command

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Rights that are not given any more are taken back, and a binding whose role is another one
// is made anew: it cannot be changed.
func TestClusterAddTakesBackWhatIsNotGivenAnyMore(t *testing.T) {
	g := NewWithT(t)
	_, target, run := twoWorlds(t)
	target.refuseOtherRoles = true
	add := func(args ...string) string {
		t.Helper()
		code, out, errOut := run(append([]string{"cluster", "add", "edge", "--target-context", "edge-admin", "--target-server", "https://e", "--overwrite"}, args...)...)
		g.Expect(code).To(Equal(0), errOut)
		return out
	}
	binding := func(namespace string) string {
		return "/apis/rbac.authorization.k8s.io/v1/namespaces/" + namespace + "/rolebindings/" + account
	}
	add("--namespaces", "a,b,c")
	others := target.objects[binding("b")].DeepCopy()
	others.SetName("others")
	others.SetLabels(map[string]string{"app.kubernetes.io/instance": account}) // which this command has not made
	target.objects[binding("b")+"s"] = others
	target.done = nil
	g.Expect(add("--namespaces", "a", "--dry-run=client")).To(ContainSubstring("rolebinding.rbac.authorization.k8s.io/" + account + " removed from namespace b on edge-admin (dry run)\n"))
	g.Expect(target.done).To(BeEmpty())
	g.Expect(add("--namespaces", "a")).To(HaveSuffix("\nrolebinding.rbac.authorization.k8s.io/" + account + " removed from namespace b on edge-admin\n" +
		"rolebinding.rbac.authorization.k8s.io/" + account + " removed from namespace c on edge-admin\n"))
	g.Expect(target.objects).To(And(HaveKey(binding("a")), HaveKey(binding("b")+"s"), Not(HaveKey(binding("b"))), Not(HaveKey(binding("c")))))

	add("--namespaces", "a", "--role", "edit")
	role, _, _ := unstructured.NestedString(target.objects[binding("a")].Object, "roleRef", "name")
	g.Expect(role).To(Equal("edit"))

	everywhere := "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/" + account
	add("--cluster-role", "cluster-admin")
	role, _, _ = unstructured.NestedString(target.objects[everywhere].Object, "roleRef", "name")
	g.Expect(role).To(Equal("cluster-admin"))
	g.Expect(target.objects).NotTo(Or(HaveKey(binding("a")), HaveKey("/apis/rbac.authorization.k8s.io/v1/clusterroles/"+account)))

	add("--namespaces", "a", "--account-namespace", "elsewhere")
	role, _, _ = unstructured.NestedString(target.objects[everywhere].Object, "roleRef", "name")
	g.Expect(role).To(Equal(account))
	g.Expect(target.objects).NotTo(HaveKey("/api/v1/namespaces/convoy/serviceaccounts/" + account))
	g.Expect(target.objects).To(HaveKey("/api/v1/namespaces/elsewhere/serviceaccounts/" + account))
}

// Two hosts may have Clusters of equal names for one target.
func TestHostsLeaveEachOthersAccounts(t *testing.T) {
	g := NewWithT(t)
	host, target, run := twoWorlds(t)
	add := []string{"cluster", "add", "edge", "--target-context", "edge-admin", "--target-server", "https://e"}
	code, _, errOut := run(append(add, "--namespaces", "a,b")...)
	g.Expect(code).To(Equal(0), errOut)
	ofTheFirst := maps.Clone(target.objects)
	onTheFirst := host.objects

	host.objects = map[string]*unstructured.Unstructured{shopNamespace: namespaceOf("5e2f-2")}
	code, _, errOut = run(append(add, "--cluster-role", "cluster-admin")...)
	g.Expect(code).To(Equal(0), errOut)
	for path, object := range ofTheFirst {
		g.Expect(target.objects).To(HaveKeyWithValue(path, object))
	}
	code, _, errOut = run("cluster", "remove", "edge", "--target-context", "edge-admin")
	g.Expect(code).To(Equal(0), errOut)
	g.Expect(target.objects).To(Equal(ofTheFirst))

	host.objects = onTheFirst
	code, _, errOut = run("cluster", "remove", "edge", "--target-context", "edge-admin")
	g.Expect(code).To(Equal(0), errOut)
	g.Expect(target.objects).To(And(HaveLen(1), HaveKey("/api/v1/namespaces/convoy")))
}

// An account whose name does not tell the host, as they were made before, may be another's too.
func TestClusterAccountsWithoutAHost(t *testing.T) {
	for _, args := range [][]string{
		{"cluster", "add", "edge", "--target-context", "edge-admin", "--target-server", "https://e", "--cluster-role", "cluster-admin", "--overwrite"},
		{"cluster", "remove", "edge", "--target-context", "edge-admin"},
	} {
		t.Run(args[1], func(t *testing.T) {
			g := NewWithT(t)
			host, target, run := twoWorlds(t)
			made := func(kind, name string) *unstructured.Unstructured {
				return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{
					"namespace": "shop", "name": name, "labels": map[string]any{"app.kubernetes.io/managed-by": "kubectl-convoy", "app.kubernetes.io/instance": "convoy-shop.edge"}}}}
			}
			host.objects[clustersPath+"/edge"] = made("Cluster", "edge")
			host.objects["/api/v1/namespaces/shop/secrets/edge-kubeconfig"] = made("Secret", "edge-kubeconfig")
			former := "/api/v1/namespaces/convoy/serviceaccounts/convoy-shop.edge"
			target.objects[former] = made("ServiceAccount", "convoy-shop.edge")
			code, _, errOut := run(args...)
			g.Expect(code).To(Equal(0), errOut)
			g.Expect(target.objects).To(HaveKey(former))
			g.Expect(errOut).To(ContainSubstring("the account convoy-shop.edge on edge-admin, with which the Cluster was reached before, is left: another host may use it. If none does:\n" +
				"  kubectl --context edge-admin delete rolebindings,clusterrolebindings,clusterroles,secrets,serviceaccounts -A -l app.kubernetes.io/managed-by=kubectl-convoy,app.kubernetes.io/instance=convoy-shop.edge\n"))
		})
	}
}

// What a removal could not do is done by the next one.
func TestClusterRemoveIsRepeated(t *testing.T) {
	g := NewWithT(t)
	host, target, run := twoWorlds(t)
	code, _, errOut := run("cluster", "add", "edge", "--target-context", "edge-admin", "--target-server", "https://e", "--cluster-role", "cluster-admin")
	g.Expect(code).To(Equal(0), errOut)
	target.down = true
	remove := []string{"cluster", "remove", "edge", "--target-context", "edge-admin"}
	code, _, errOut = run(remove...)
	g.Expect(code).To(Equal(1))
	g.Expect(errOut).To(ContainSubstring("on edge-admin"))
	g.Expect(host.objects).To(HaveKey(clustersPath + "/edge"))
	target.down = false
	code, _, errOut = run(remove...)
	g.Expect(code).To(Equal(0), errOut)
	g.Expect(target.objects).To(And(HaveLen(1), HaveKey("/api/v1/namespaces/convoy")))
}

// addEdge are the arguments that add the Cluster edge, with more of them.
func addEdge(more ...string) []string {
	return append([]string{"cluster", "add", "edge", "--target-context", "edge-admin", "--target-server", "https://e"}, more...)
}

const removeCommand = "delete rolebindings,clusterrolebindings,clusterroles,secrets,serviceaccounts -A -l app.kubernetes.io/managed-by=kubectl-convoy,app.kubernetes.io/instance=" + account

// Who deleted the Cluster by itself can still have the rest removed.
func TestClusterRemoveGoesOnWithoutTheCluster(t *testing.T) {
	remove := []string{"cluster", "remove", "edge"}
	for _, test := range []struct {
		name                string
		args                []string
		code                int
		errOut              string
		onHost, onTarget    int
		withoutTheSecretToo bool
	}{
		{"with its target", append(remove, "--target-context", "edge-admin"), 0, "", 1, 1, false},
		{"with its target only", append(remove, "--target-context", "edge-admin"), 0, "", 1, 1, true},
		{"without its target", remove, 0, removeCommand, 1, 4, false},
		{"nothing is left here", remove, 1, "not found; with --target-context, what is left of it on the target is removed", 1, 4, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			host, target, run := twoWorlds(t)
			code, _, errOut := run(addEdge("--cluster-role", "cluster-admin")...)
			g.Expect(code).To(Equal(0), errOut)
			g.Expect(target.objects).To(HaveLen(4))
			delete(host.objects, clustersPath+"/edge")
			if test.withoutTheSecretToo {
				delete(host.objects, "/api/v1/namespaces/shop/secrets/edge-kubeconfig")
			}
			code, _, errOut = run(test.args...)
			g.Expect(code).To(Equal(test.code), errOut)
			g.Expect(errOut).To(ContainSubstring(test.errOut))
			g.Expect(host.objects).To(HaveLen(test.onHost))
			g.Expect(target.objects).To(HaveLen(test.onTarget))
		})
	}
}

func TestClusterRemoveWithTheContextOfAnotherTarget(t *testing.T) {
	g := NewWithT(t)
	host, target, run := twoWorlds(t)
	code, _, errOut := run(addEdge("--cluster-role", "cluster-admin")...)
	g.Expect(code).To(Equal(0), errOut)
	onTarget := target.objects
	target.objects, host.done = map[string]*unstructured.Unstructured{}, nil
	code, out, errOut := run("cluster", "remove", "edge", "--target-context", "edge-admin")
	g.Expect(code).To(Equal(1))
	g.Expect(out).To(BeEmpty())
	g.Expect(errOut).To(Equal("error: there is nothing of the account " + account + " on edge-admin, and nothing was removed: is this the context of another cluster? " +
		"If the account is gone already, leave --target-context out\n"))
	g.Expect(host.done).To(BeEmpty())

	target.objects = onTarget
	code, _, errOut = run("cluster", "remove", "edge")
	g.Expect(code).To(Equal(0))
	g.Expect(errOut).To(Equal("Note: the account " + account + " on the target stays, with its token and its rights. To remove it:\n  kubectl --context CONTEXT " + removeCommand + "\n"))
	g.Expect(target.objects).To(HaveLen(4))
}

// Rights that are missing on the host are found before the target is touched.
func TestClusterAddTriesTheHostFirst(t *testing.T) {
	for _, resource := range []string{"/secrets/", "/clusters/"} {
		t.Run(resource, func(t *testing.T) {
			g := NewWithT(t)
			host, target, run := twoWorlds(t)
			host.forbids = func(req *http.Request) bool {
				return req.Method == http.MethodPatch && strings.Contains(req.URL.Path, resource)
			}
			code, _, errOut := run(addEdge("--cluster-role", "cluster-admin")...)
			g.Expect(code).To(Equal(1))
			g.Expect(errOut).To(And(ContainSubstring("you may not"), HaveSuffix("; nothing was done on edge-admin\n")))
			g.Expect(append(host.done, target.done...)).To(BeEmpty())
		})
	}
}

// A namespace for the account that exists is another's: its labels and owner stay.
func TestClusterAddLeavesNamespacesThatExist(t *testing.T) {
	g := NewWithT(t)
	_, target, run := twoWorlds(t)
	path := "/api/v1/namespaces/theirs"
	theirs := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
		"name": "theirs", "labels": map[string]any{"app.kubernetes.io/managed-by": "them"}}}}
	target.objects[path] = theirs.DeepCopy()
	code, out, errOut := run(addEdge("--cluster-role", "cluster-admin", "--account-namespace", "theirs")...)
	g.Expect(code).To(Equal(0), errOut)
	g.Expect(out).NotTo(ContainSubstring("namespace/theirs"))
	g.Expect(target.objects).To(HaveKeyWithValue(path, theirs))
	g.Expect(target.done).NotTo(ContainElement(HaveSuffix(path)))
}

// A binding is only given up for one that may be made.
func TestClusterAddTriesANewRoleFirst(t *testing.T) {
	g := NewWithT(t)
	_, target, run := twoWorlds(t)
	target.refuseOtherRoles = true
	code, _, errOut := run(addEdge("--cluster-role", "view")...)
	g.Expect(code).To(Equal(0), errOut)
	target.done = nil
	target.forbids = func(req *http.Request) bool {
		return strings.Contains(req.URL.Path, "clusterrolebindings") && (req.Method == http.MethodPost || req.Method == http.MethodPatch)
	}
	code, _, errOut = run(addEdge("--cluster-role", "cluster-admin", "--overwrite")...)
	g.Expect(code).To(Equal(1))
	g.Expect(errOut).To(ContainSubstring("clusterrolebinding.rbac.authorization.k8s.io/" + account + " with another role on edge-admin: "))
	g.Expect(target.objects).To(HaveKey("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/" + account))
	g.Expect(target.done).To(BeEmpty())
}
