// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/e2e/framework/gitserver"
)

// app is a Release of a scene, which delivers the folder of its name.
type app struct {
	c    *scene
	name string
	// spec may be changed until something is delivered, annotations too; after that, change
	// changes the Release.
	spec        corev1alpha1.ReleaseSpec
	annotations map[string]string
	created     bool
	revision    string // of the last commit
}

// second makes another Release of the scene.
func (c *scene) second(name string) *app {
	return &app{c: c, name: name, spec: corev1alpha1.ReleaseSpec{
		ClusterRef: corev1alpha1.LocalReference{Name: cluster},
		Source: corev1alpha1.ReleaseSource{Git: &corev1alpha1.GitSource{
			RepositoryRef: corev1alpha1.LocalReference{Name: repository}, Ref: corev1alpha1.GitRef{Branch: gitserver.DefaultBranch}, Path: name,
		}},
	}}
}

// deliver makes manifests all that the Release has, and waits until it is Ready with them.
func (a *app) deliver(ctx context.Context, manifests ...string) {
	a.offer(ctx, manifests...)
	a.ready(ctx)
}

// offer makes manifests all that the Release has, and has it synced. It does not wait.
func (a *app) offer(ctx context.Context, manifests ...string) {
	a.revision = a.c.commit(ctx, map[string]string{a.name + "/all.yaml": strings.Join(manifests, "\n---\n") + "\n"})
	a.sync(ctx)
}

// offerFiles changes the files of the Release's folder; one without content is deleted.
func (a *app) offerFiles(ctx context.Context, files map[string]string) {
	written := map[string]string{}
	var deleted []string
	for name, text := range files {
		if name = path.Join(a.name, name); text == "" {
			deleted = append(deleted, name)
		} else {
			written[name] = text
		}
	}
	a.revision = a.c.commit(ctx, written, deleted...)
	a.sync(ctx)
}

// sync creates the Release, or asks for a sync of it.
func (a *app) sync(ctx context.Context) {
	if !a.created {
		a.created = true
		_, err := a.c.api.CoreV1alpha1().Releases(a.c.ns).Create(ctx, &corev1alpha1.Release{
			ObjectMeta: metav1.ObjectMeta{Name: a.name, Annotations: a.annotations}, Spec: a.spec,
		}, metav1.CreateOptions{})
		a.c.Expect(err).NotTo(HaveOccurred())
		return
	}
	a.ask(ctx, false)
}

// force asks for a forced sync.
func (a *app) force(ctx context.Context) { a.ask(ctx, true) }

func (a *app) ask(ctx context.Context, force bool) {
	_, err := a.c.api.CoreV1alpha1().Releases(a.c.ns).Sync(ctx, a.name, corev1alpha1.ReleaseSyncOptions{Force: force})
	a.c.Expect(err).NotTo(HaveOccurred())
}

// get reads the Release.
func (a *app) get(ctx context.Context) *corev1alpha1.Release {
	release, err := a.c.api.CoreV1alpha1().Releases(a.c.ns).Get(ctx, a.name, metav1.GetOptions{})
	a.c.Expect(err).NotTo(HaveOccurred())
	return release
}

// change changes the Release, however often others write meanwhile.
func (a *app) change(ctx context.Context, change func(*corev1alpha1.Release)) {
	a.c.Eventually(ctx, func() error {
		release := a.get(ctx)
		change(release)
		_, err := a.c.api.CoreV1alpha1().Releases(a.c.ns).Update(ctx, release, metav1.UpdateOptions{})
		return err
	}).Should(Succeed())
}

// ready waits until the Release is Ready with its last commit, and with all requests handled.
func (a *app) ready(ctx context.Context) {
	a.awaits(ctx, corev1alpha1.ConditionReady)
}

// applied is ready without health, for objects that nobody makes healthy here.
func (a *app) applied(ctx context.Context) {
	a.awaits(ctx, corev1alpha1.ConditionApplied)
}

func (a *app) awaits(ctx context.Context, condition string) {
	a.c.Eventually(ctx, func() error {
		release := a.get(ctx)
		if err := a.upToDate(release); err != nil {
			return err
		}
		return conditionIs(release, condition, metav1.ConditionTrue, "")
	}).Should(Succeed())
}

// upToDate tells whether the Release's status speaks of the last commit and request.
func (a *app) upToDate(release *corev1alpha1.Release) error {
	status := release.Status
	if status.Applied == nil {
		return errors.New("nothing is applied")
	}
	applied := slices.Index(a.c.commits, strings.TrimPrefix(status.Applied.Revision, "main@sha1:"))
	if applied < slices.Index(a.c.commits, a.revision) { // a later one is another Release's
		return fmt.Errorf("commit %s is not applied, but %s", a.revision, status.Applied.Revision)
	}
	asked := release.Annotations[corev1alpha1.AnnotationSyncRequestedAt]
	if asked != "" && (status.Sync == nil || status.Sync.LastHandledAt != asked) {
		return fmt.Errorf("the sync of %s is not handled", asked)
	}
	return nil
}

func conditionIs(release *corev1alpha1.Release, name string, status metav1.ConditionStatus, reason string, texts ...string) error {
	c := meta.FindStatusCondition(release.Status.Conditions, name)
	switch {
	case c == nil:
		return fmt.Errorf("Release %s has no condition %s", release.Name, name)
	case c.ObservedGeneration != release.Generation:
		return fmt.Errorf("condition %s speaks of generation %d, now is %d", name, c.ObservedGeneration, release.Generation)
	case c.Status != status, reason != "" && c.Reason != reason:
		return fmt.Errorf("condition %s is %s, %s: %s", name, c.Status, c.Reason, c.Message)
	}
	for _, text := range texts {
		if !strings.Contains(c.Message, text) {
			return fmt.Errorf("condition %s does not say %q: %s", name, text, c.Message)
		}
	}
	return nil
}

// fails waits until a condition is False for a reason, and its message has the texts.
func (a *app) fails(ctx context.Context, condition, reason string, texts ...string) {
	a.says(ctx, condition, metav1.ConditionFalse, reason, texts...)
}

// says waits until a condition is as given, and its message has the texts.
func (a *app) says(ctx context.Context, condition string, status metav1.ConditionStatus, reason string, texts ...string) {
	for i := range texts {
		texts[i] = a.c.of(texts[i])
	}
	a.c.Eventually(ctx, func() error { return conditionIs(a.get(ctx), condition, status, reason, texts...) }).Should(Succeed())
}

// message gives the message of a condition.
func (a *app) message(ctx context.Context, condition string) string {
	c := meta.FindStatusCondition(a.get(ctx).Status.Conditions, condition)
	a.c.Expect(c).NotTo(BeNil())
	return c.Message
}

// kept gives what the history says that is kept, of the newest entry.
func (a *app) kept(ctx context.Context) []string {
	history := a.get(ctx).Status.History
	a.c.Expect(history).NotTo(BeEmpty())
	return history[0].Kept
}

// inventory gives the names in the Release's inventory, as "ConfigMap/a"; none when it is gone.
func (a *app) inventory(ctx context.Context) []string {
	inventory, err := a.c.api.CoreV1alpha1().ReleaseInventories(a.c.ns).Get(ctx, a.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	a.c.Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, entry := range inventory.Spec.Entries {
		names = append(names, entry.Kind+"/"+entry.Name)
	}
	return names
}

// holds waits until the inventory has these objects and no others.
func (a *app) holds(ctx context.Context, names ...string) {
	a.c.Eventually(ctx, func() []string { return a.inventory(ctx) }).Should(ConsistOf(names))
}

// plan asks for a preview and gives what a sync would do, as "create ConfigMap/a".
func (a *app) plan(ctx context.Context) []string {
	preview, err := a.c.api.CoreV1alpha1().Releases(a.c.ns).Preview(ctx, a.name, corev1alpha1.ReleasePreviewOptions{})
	a.c.Expect(err).NotTo(HaveOccurred())
	var plan []string
	for _, object := range preview.Objects {
		text := fmt.Sprintf("%s %s/%s", object.Action, object.Kind, object.Name)
		if object.Simulated {
			text += " simulated"
		}
		plan = append(plan, text)
	}
	return plan
}

// remove deletes the Release. It does not wait.
func (a *app) remove(ctx context.Context) {
	a.c.Expect(a.c.api.CoreV1alpha1().Releases(a.c.ns).Delete(ctx, a.name, metav1.DeleteOptions{})).To(Succeed())
}

// gone waits until the Release is.
func (a *app) gone(ctx context.Context) {
	a.c.Eventually(ctx, func() bool {
		_, err := a.c.api.CoreV1alpha1().Releases(a.c.ns).Get(ctx, a.name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}).Should(BeTrue(), "the Release is still there")
}

// told waits for an event of the Release with a reason and all of the texts.
func (a *app) told(ctx context.Context, reason string, texts ...string) {
	a.c.Eventually(ctx, func() ([]string, error) {
		events, err := a.c.hostKube.CoreV1().Events(a.c.ns).List(ctx, metav1.ListOptions{})
		var messages []string
		for _, event := range events.Items {
			if event.InvolvedObject.Name == a.name && event.Reason == reason {
				messages = append(messages, event.Message)
			}
		}
		return messages, err
	}).Should(ContainElement(WithTransform(func(message string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(message, a.c.of(text)) })
	}, BeTrue())), "no event %s that says %q", reason, texts)
}

// hook adds a hook of the spec.
func (a *app) hook(name string, on corev1alpha1.HookPoint, template string, change ...func(*corev1alpha1.Hook)) {
	data, err := yaml.YAMLToJSON([]byte(a.c.of(template)))
	a.c.Expect(err).NotTo(HaveOccurred())
	a.c.Expect(json.Valid(data)).To(BeTrue())
	hook := corev1alpha1.Hook{Name: name, On: on, Template: runtime.RawExtension{Raw: data}}
	for _, c := range change {
		c(&hook)
	}
	if a.spec.Lifecycle == nil {
		a.spec.Lifecycle = &corev1alpha1.LifecycleSpec{}
	}
	a.spec.Lifecycle.Hooks = append(a.spec.Lifecycle.Hooks, hook)
}

func within(d time.Duration) func(*corev1alpha1.Hook) {
	return func(h *corev1alpha1.Hook) { h.Timeout = &metav1.Duration{Duration: d} }
}

// withoutDrift keeps the observer from asking for a sync when something is changed by hand.
func (a *app) withoutDrift() {
	a.spec.Drift = &corev1alpha1.DriftSpec{Mode: corev1alpha1.DriftModeDisabled}
}

// outcome gives a hook's phase and message.
func (a *app) outcome(ctx context.Context, name string) (corev1alpha1.HookPhase, string) {
	if lifecycle := a.get(ctx).Status.Lifecycle; lifecycle != nil {
		for _, hook := range lifecycle.Hooks {
			if hook.Name == name {
				return hook.Phase, hook.Message
			}
		}
	}
	return "", ""
}

// second is the shortest interval.
const second = time.Second
