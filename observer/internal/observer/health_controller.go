// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/clusterconn"
	"kumodo.io/convoy/health"
	"kumodo.io/convoy/internal/controller/base"
	"kumodo.io/convoy/observer/internal/compare"
)

// HealthController is the health loop: it judges the objects of a Release's inventory and
// writes the inventory's status, and follows running hooks to their end. Its key is the
// name of the Release.
type HealthController struct {
	Host
	Rules  *Rules
	Clock  clock.Clock
	Resync time.Duration

	mu    sync.Mutex
	known map[types.NamespacedName]map[corev1alpha1.ObjectKey]judgement
}

// judgement is the health of an object as it was at one resourceVersion.
type judgement struct {
	entry   corev1alpha1.InventoryEntry
	version string
	rules   string
	health.Result
}

// Reconcile judges one Release. What did not change since it was last judged costs no
// request.
func (c *HealthController) Reconcile(ctx context.Context, key types.NamespacedName) (base.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	inventory, err := c.Inventories.ReleaseInventories(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		c.forget(key)
		return base.Result{}, nil
	}
	if err != nil {
		return base.Result{}, err
	}
	release, err := c.Releases.Releases(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return base.Result{}, nil
	}
	if err != nil {
		return base.Result{}, err
	}
	connection, cluster, err := c.Connect(ctx, release)
	if err != nil {
		return base.Result{RequeueAfter: c.Resync}, c.write(ctx, inventory, unknown(inventory, err))
	}
	resync := c.track(ctx, release, inventory, c.Resync)
	results := c.judge(ctx, release, inventory, connection, cluster)
	if err := c.write(ctx, inventory, results); err != nil {
		return base.Result{}, err
	}
	if err := c.followHooks(ctx, release, connection); err != nil {
		return base.Result{}, err
	}
	return base.Result{RequeueAfter: resync}, nil
}

// judge returns the health of every entry, in their order.
func (c *HealthController) judge(ctx context.Context, release *corev1alpha1.Release, inventory *corev1alpha1.ReleaseInventory,
	connection *clusterconn.Connection, cluster types.NamespacedName,
) []health.Result {
	key := types.NamespacedName{Namespace: release.Namespace, Name: release.Name}
	assessor, rules := c.Rules.For(release)
	reader := &compare.Comparer{Target: connection, Installation: c.Installation, Release: release}
	before := c.remembered(key)
	entries := inventory.Spec.Entries
	judged := make([]judgement, len(entries))
	compare.Parallel(len(entries), func(i int) {
		entry := entries[i]
		old, ok := before[identity(entry.ObjectKey)]
		version, seen := c.version(ctx, connection, cluster, entry.ObjectKey)
		if ok && seen && old.entry == entry && old.version == version && old.rules == rules {
			judged[i] = old
			return
		}
		live, err := reader.Live(ctx, entry.ObjectKey)
		judged[i] = judgement{entry: entry, rules: rules, version: versionOf(live), Result: c.assess(assessor, live, err)}
		if err != nil {
			judged[i].version = "unknown"
		}
	})
	c.remember(key, judged)
	results := make([]health.Result, len(judged))
	for i := range judged {
		results[i] = judged[i].Result
	}
	return results
}

func (c *HealthController) assess(assessor *health.Assessor, live *unstructured.Unstructured, err error) health.Result {
	if err != nil {
		return health.Result{Status: corev1alpha1.HealthUnknown, Message: err.Error(), Rule: "read"}
	}
	return assessor.Assess(live)
}

// write brings the inventory's status in line with the results, if it is not yet.
func (c *HealthController) write(ctx context.Context, inventory *corev1alpha1.ReleaseInventory, results []health.Result) error {
	status := corev1alpha1.ReleaseInventoryStatus{
		ObservedGeneration: inventory.Generation,
		Summary:            &corev1alpha1.HealthSummary{},
	}
	before := map[corev1alpha1.ObjectKey]corev1alpha1.ObjectHealth{}
	for _, old := range inventory.Status.Health {
		before[old.ObjectKey] = old
	}
	now := metav1.NewTime(c.Clock.Now().Truncate(time.Second))
	for i, entry := range inventory.Spec.Entries {
		since := &now
		if old, ok := before[entry.ObjectKey]; ok && old.Status == results[i].Status {
			since = old.Since
		}
		count(status.Summary, results[i].Status)
		status.Health = append(status.Health, corev1alpha1.ObjectHealth{
			ObjectKey: entry.ObjectKey, Status: results[i].Status, Message: clip(results[i].Message), Since: since,
		})
	}
	if equality.Semantic.DeepEqual(status, inventory.Status) {
		return nil
	}
	updated := inventory.DeepCopy()
	updated.Status = status
	_, err := c.Client.CoreV1alpha1().ReleaseInventories(inventory.Namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("status of ReleaseInventory %s/%s: %w", inventory.Namespace, inventory.Name, err)
	}
	return nil
}

// messageLimit bounds a message in the inventory, of which thousands share one object.
const messageLimit = 512

func clip(message string) string {
	if len(message) <= messageLimit {
		return message
	}
	return strings.ToValidUTF8(message[:messageLimit], "") + "…"
}

// unknown is the health of every entry when the target cannot be asked: never the last
// known one.
func unknown(inventory *corev1alpha1.ReleaseInventory, err error) []health.Result {
	results := make([]health.Result, len(inventory.Spec.Entries))
	for i := range results {
		results[i] = health.Result{Status: corev1alpha1.HealthUnknown, Message: err.Error(), Rule: "connection"}
	}
	return results
}

// count adds one object to a summary.
func count(summary *corev1alpha1.HealthSummary, status corev1alpha1.HealthStatus) {
	switch status {
	case corev1alpha1.HealthHealthy:
		summary.Healthy++
	case corev1alpha1.HealthProgressing:
		summary.Progressing++
	case corev1alpha1.HealthDegraded:
		summary.Degraded++
	case corev1alpha1.HealthSuspended:
		summary.Suspended++
	case corev1alpha1.HealthMissing:
		summary.Missing++
	default:
		summary.Unknown++
	}
}

func (c *HealthController) remembered(key types.NamespacedName) map[corev1alpha1.ObjectKey]judgement {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[key]
}

func (c *HealthController) remember(key types.NamespacedName, judged []judgement) {
	byKey := make(map[corev1alpha1.ObjectKey]judgement, len(judged))
	for _, j := range judged {
		byKey[identity(j.entry.ObjectKey)] = j
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[types.NamespacedName]map[corev1alpha1.ObjectKey]judgement{}
	}
	c.known[key] = byKey
}

func (c *HealthController) forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, key)
}

func versionOf(live *unstructured.Unstructured) string {
	if live == nil {
		return ""
	}
	return live.GetResourceVersion()
}

// Report is the answer of the health subresource: the live objects judged now.
func (c *HealthController) Report(ctx context.Context, release *corev1alpha1.Release) (*corev1alpha1.ReleaseHealth, error) {
	report := &corev1alpha1.ReleaseHealth{
		Status:  corev1alpha1.HealthUnknown,
		Objects: []corev1alpha1.ObjectHealthDetail{},
	}
	inventory, err := c.Inventories.ReleaseInventories(release.Namespace).Get(release.Name)
	if apierrors.IsNotFound(err) {
		return report, nil
	}
	if err != nil {
		return nil, err
	}
	connection, cluster, err := c.Connect(ctx, release)
	if err != nil {
		return nil, err
	}
	results := c.judge(ctx, release, inventory, connection, cluster)
	statuses := make([]corev1alpha1.HealthStatus, 0, len(results))
	for i, result := range results {
		statuses = append(statuses, result.Status)
		count(&report.Summary, result.Status)
		report.Objects = append(report.Objects, corev1alpha1.ObjectHealthDetail{
			ObjectHealth: corev1alpha1.ObjectHealth{
				ObjectKey: inventory.Spec.Entries[i].ObjectKey, Status: result.Status, Message: result.Message,
			},
			Rule: result.Rule,
		})
	}
	report.Status = health.Worst(statuses...)
	return report, nil
}
