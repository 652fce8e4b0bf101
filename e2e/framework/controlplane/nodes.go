// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"kumodo.io/convoy/e2e/framework/poll"
)

const (
	nodeTimeout  = time.Minute
	nodeInterval = 100 * time.Millisecond
)

//go:embed stages/*.yaml
var stages embed.FS

// writeStages writes all stages as the one file that kwok reads.
func writeStages(path string) error {
	var all []byte
	for _, name := range []string{"stages/node.yaml", "stages/pod.yaml"} {
		content, err := stages.ReadFile(name)
		if err != nil {
			return err
		}
		all = append(all, "---\n"...)
		all = append(all, content...)
	}
	return os.WriteFile(path, all, 0o644)
}

// addNodes creates the simulated nodes and waits until pods can run on them:
// the controllers have seen them ready, and the default namespace has the
// service account without which no pod is admitted.
func (c *ControlPlane) addNodes(ctx context.Context) error {
	config, err := c.RESTConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("build a client: %w", err)
	}
	for i := range c.options.Nodes {
		node := simulatedNode(fmt.Sprintf("node-%d", i))
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %s: %w", node.Name, err)
		}
	}
	c.say("waiting for %d simulated nodes", c.options.Nodes)
	ctx, cancel := context.WithTimeout(ctx, nodeTimeout)
	defer cancel()
	return poll.Until(ctx, nodeInterval, func(ctx context.Context) error {
		if err := c.Err(); err != nil {
			cancel() // no use in waiting for the dead
			return err
		}
		return workloadsReady(ctx, client, c.options.Nodes)
	})
}

func workloadsReady(ctx context.Context, client kubernetes.Interface, want int) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	ready := 0
	for _, node := range nodes.Items {
		if nodeReady(&node) && len(node.Spec.Taints) == 0 {
			ready++
		}
	}
	if ready < want {
		return fmt.Errorf("%d of %d nodes take pods", ready, want)
	}
	_, err = client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return errors.New("the default namespace has no service account")
	}
	return err
}

func nodeReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func simulatedNode(name string) *corev1.Node {
	resources := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("64"),
		corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods:   resource.MustParse("5000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux"}},
		Status:     corev1.NodeStatus{Capacity: resources, Allocatable: resources},
	}
}
