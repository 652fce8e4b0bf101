// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/e2e/framework/gitserver"
	"kumodo.io/convoy/e2e/framework/manifests"
)

const (
	cluster    = "edge"
	repository = "repo"
)

// scene is where a case plays: a namespace of the same name on both clusters, with a Cluster
// and a GitRepository on the host, and the Release "app", which is there once something is
// delivered. In manifests, $ns stands for the namespace; what is cluster-scoped has it in its
// name.
type scene struct {
	Gomega
	*rig
	*app
	ns      string
	repo    *gitserver.Repository
	commits []string // all of them, the newest last
	flushes int
}

func newScene(ctx context.Context, r *rig, namespace string) *scene {
	c := &scene{Gomega: NewGomega(fail), rig: r, ns: namespace}
	c.SetDefaultEventuallyTimeout(time.Minute)
	c.SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	c.app = c.second("app")
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	_, err := r.hostKube.CoreV1().Namespaces().Create(ctx, object, metav1.CreateOptions{})
	c.Expect(err).NotTo(HaveOccurred())
	_, err = r.targetKube.CoreV1().Namespaces().Create(ctx, object, metav1.CreateOptions{})
	c.Expect(err).NotTo(HaveOccurred())
	c.repo, err = gitserver.Create(ctx, r.path("git"), namespace)
	c.Expect(err).NotTo(HaveOccurred())
	c.addCluster(ctx, cluster, r.readKubeconfig())
	_, err = r.api.SourceV1alpha1().GitRepositories(namespace).Create(ctx, &sourcev1alpha1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Name: repository},
		Spec:       sourcev1alpha1.GitRepositorySpec{URL: r.git.RepositoryURL(namespace)},
	}, metav1.CreateOptions{})
	c.Expect(err).NotTo(HaveOccurred())
	return c
}

// leave has convoy forget the scene, so that it costs the others nothing. What is on the target
// stays there.
func (c *scene) leave(ctx context.Context) {
	clusters, releases := c.api.CoreV1alpha1().Clusters(c.ns), c.api.CoreV1alpha1().Releases(c.ns)
	c.Expect(clusters.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})).To(Succeed())
	c.Expect(releases.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})).To(Succeed())
	left, err := releases.List(ctx, metav1.ListOptions{})
	c.Expect(err).NotTo(HaveOccurred())
	for _, release := range left.Items {
		_, err := releases.Patch(ctx, release.Name, apitypes.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		c.Expect(err == nil || apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
	}
}

// addCluster makes a Cluster, and its Secret of the same name.
func (c *scene) addCluster(ctx context.Context, name string, kubeconfig []byte) {
	_, err := c.hostKube.CoreV1().Secrets(c.ns).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{"kubeconfig": kubeconfig},
	}, metav1.CreateOptions{})
	c.Expect(err).NotTo(HaveOccurred())
	_, err = c.api.CoreV1alpha1().Clusters(c.ns).Create(ctx, &corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeAgentless, Agentless: &corev1alpha1.AgentlessAccess{Auth: corev1alpha1.ClusterAuth{
			Type: corev1alpha1.ClusterAuthTypeKubeconfig, Kubeconfig: &corev1alpha1.KubeconfigAuth{SecretRef: corev1alpha1.SecretKeyReference{Name: name}},
		}}},
	}, metav1.CreateOptions{})
	c.Expect(err).NotTo(HaveOccurred())
}

// behindADoor makes the Cluster "far", which leads to the target through a door.
func (c *scene) behindADoor(ctx context.Context) *door {
	d := &door{to: strings.TrimPrefix(c.target.URL(), "https://")}
	c.Expect(d.unlock()).To(Succeed())
	c.addCluster(ctx, "far", bytes.ReplaceAll(c.readKubeconfig(), []byte(c.target.URL()), []byte("https://"+d.address)))
	return d
}

// of fills the scene's namespace in.
func (c *scene) of(text string) string { return strings.ReplaceAll(text, "$ns", c.ns) }

// commit writes files, and deletes others, in one commit.
func (c *scene) commit(ctx context.Context, files map[string]string, deleted ...string) string {
	written := map[string]string{}
	for path, text := range files {
		written[path] = c.of(text)
	}
	commit, err := c.repo.Commit(ctx, gitserver.Commit{Write: written, Delete: deleted})
	c.Expect(err).NotTo(HaveOccurred())
	c.commits = append(c.commits, commit)
	return commit
}

// resource gives the client for "configmaps/a", in the scene's namespace if it has no other,
// as in "configmaps/other/a".
func (c *scene) resource(ref string) (dynamic.ResourceInterface, string) {
	parts := strings.Split(c.of(ref), "/")
	namespace, name := c.ns, parts[len(parts)-1]
	if len(parts) == 3 {
		namespace = parts[1]
	}
	kind := schema.ParseGroupResource(parts[0])
	gvk, err := c.mapper.KindFor(kind.WithVersion(""))
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		gvk, err = c.mapper.KindFor(kind.WithVersion(""))
	}
	c.Expect(err).NotTo(HaveOccurred())
	mapping := c.mapping(gvk)
	client := c.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return client.Namespace(namespace), name
	}
	return client, name
}

// mapping finds the resource of a kind, which the target may serve since a moment.
func (c *scene) mapping(gvk schema.GroupVersionKind) *meta.RESTMapping {
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	c.Expect(err).NotTo(HaveOccurred())
	return mapping
}

// find reads an object of the target; nil when there is none.
func (c *scene) find(ctx context.Context, ref string) *unstructured.Unstructured {
	client, name := c.resource(ref)
	object, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	c.Expect(err).NotTo(HaveOccurred())
	return object
}

// live reads an object of the target, which must be there.
func (c *scene) live(ctx context.Context, ref string) *unstructured.Unstructured {
	object := c.find(ctx, ref)
	c.Expect(object).NotTo(BeNil(), ref)
	return object
}

func (c *scene) uid(ctx context.Context, ref string) string { return string(c.live(ctx, ref).GetUID()) }

// appears waits for an object.
func (c *scene) appears(ctx context.Context, ref string) *unstructured.Unstructured {
	c.Eventually(ctx, func() bool { return c.find(ctx, ref) != nil }).Should(BeTrue(), ref+" does not appear")
	return c.live(ctx, ref)
}

// vanishes waits until an object is gone.
func (c *scene) vanishes(ctx context.Context, ref string) {
	c.Eventually(ctx, func() bool { return c.find(ctx, ref) == nil }).Should(BeTrue(), ref+" does not vanish")
}

// byHand creates objects as a field manager.
func (c *scene) byHand(ctx context.Context, manager, text string) {
	objects, err := manifests.Parse([]byte(c.of(text)))
	c.Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		mapping := c.mapping(object.GroupVersionKind())
		ref := fmt.Sprintf("%s/%s", mapping.Resource.GroupResource(), object.GetName())
		if object.GetNamespace() != "" {
			ref = fmt.Sprintf("%s/%s/%s", mapping.Resource.GroupResource(), object.GetNamespace(), object.GetName())
		}
		client, _ := c.resource(ref)
		_, err = client.Create(ctx, object, metav1.CreateOptions{FieldManager: manager})
		c.Expect(err).NotTo(HaveOccurred())
	}
}

// edit changes an object by a merge patch as a field manager.
func (c *scene) edit(ctx context.Context, ref, manager, patch string) {
	client, name := c.resource(ref)
	_, err := client.Patch(ctx, name, apitypes.MergePatchType, []byte(c.of(patch)), metav1.PatchOptions{FieldManager: manager})
	c.Expect(err).NotTo(HaveOccurred())
}

// erase deletes an object, as a person does.
func (c *scene) erase(ctx context.Context, ref string) {
	client, name := c.resource(ref)
	background := metav1.DeletePropagationBackground
	c.Expect(client.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})).To(Succeed())
}

// kubectlOnTarget runs kubectl against the target, in the scene's namespace.
func (c *scene) kubectlOnTarget(ctx context.Context, stdin string, args ...string) {
	cmd := exec.CommandContext(ctx, c.kubectl, append([]string{"-n", c.ns}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.target.AdminKubeconfig())
	cmd.Stdin = strings.NewReader("---\n" + c.of(stdin)) // so that it is not taken for JSON
	out, err := cmd.CombinedOutput()
	c.Expect(err).NotTo(HaveOccurred(), string(out))
}

// at gives the value at a path such as spec.ports.0.port; nil where there is none.
func at(object *unstructured.Unstructured, path string) any {
	var value any = object.Object
	for _, step := range strings.Split(path, ".") {
		switch inside := value.(type) {
		case map[string]any:
			value = inside[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(inside) {
				return nil
			}
			value = inside[i]
		default:
			return nil
		}
	}
	return value
}

// has matches an object with a value at a path; nil for one without.
func has(path string, value any) types.GomegaMatcher {
	matcher := BeNil()
	if value != nil {
		matcher = Equal(value)
	}
	return WithTransform(func(object *unstructured.Unstructured) any { return at(object, path) }, matcher)
}

// ours matches an object that bears marks of a Release of the scene.
func (c *scene) ours(release string) types.GomegaMatcher {
	return WithTransform(func(object *unstructured.Unstructured) string {
		return object.GetAnnotations()[corev1alpha1.AnnotationRelease]
	}, HaveSuffix("/"+c.ns+"/"+release))
}

// unmarked matches an object without marks.
func unmarked() types.GomegaMatcher {
	return And(
		WithTransform(func(object *unstructured.Unstructured) map[string]string { return object.GetAnnotations() },
			And(Not(HaveKey(corev1alpha1.AnnotationRelease)), Not(HaveKey(corev1alpha1.AnnotationClaimedBy)))),
		WithTransform(func(object *unstructured.Unstructured) map[string]string { return object.GetLabels() }, Not(HaveKey(corev1alpha1.LabelOwner))),
	)
}

// describe tells how the Releases of the scene are, for a failure.
func (c *scene) describe() string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	releases, err := c.api.CoreV1alpha1().Releases(c.ns).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, release := range releases.Items {
		fmt.Fprintf(&text, "Release %s/%s, generation %d:\n", c.ns, release.Name, release.Generation)
		for _, condition := range release.Status.Conditions {
			fmt.Fprintf(&text, "  %s %s %s (%d): %s\n", condition.Type, condition.Status, condition.Reason, condition.ObservedGeneration, condition.Message)
		}
	}
	return text.String()
}
