// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"path"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/kubectl-convoy/internal/migrate"
)

// project maps what a project says of the Application: its windows. What it forbids is for the
// rights of the cluster to forbid.
func (c *conversion) project(name string) error {
	if name == "" {
		name = "default"
	}
	object, err := c.reader.Get(projectKind, c.home, name)
	if err != nil || object == nil {
		return err
	}
	spec, _ := object.Object["spec"].(map[string]any)
	f := migrate.Read("AppProject "+name+" spec", spec, &c.Findings)
	for _, window := range f.Each("syncWindows") {
		if c.inWindow(window) {
			c.window(window)
		}
	}
	f.Unmapped("signatureKeys", "commits have to be signed: demand that by spec.verify of the GitRepository")
	f.Note("destinationServiceAccounts", "accounts of targets are named by spec.serviceAccountName of the Release, or spec.impersonate of the Cluster")
	if name != "default" {
		c.Note("spec.project", fmt.Sprintf("what AppProject %s restricts is not mapped: rights in the namespace of the Release, and the identity on the target (spec.serviceAccountName), take its place", name))
	}
	return nil
}

// inWindow tells whether a window is for the Application.
func (c *conversion) inWindow(f *migrate.Fields) bool {
	server, _, _ := destinationOf(c.Old)
	matches := func(field string, values ...string) bool {
		for _, pattern := range f.Texts(field) {
			for _, value := range values {
				if ok, err := path.Match(pattern, value); ok && err == nil && value != "" {
					return true
				}
			}
		}
		return false
	}
	applications := matches("applications", c.Old.GetName())
	namespaces := matches("namespaces", c.namespace())
	clusters := matches("clusters", server.url, server.name)
	if f.True("andOperator") || f.True("useAndOperator") {
		and := func(field string, is bool) bool { return !f.Has(field) || is }
		return and("applications", applications) && and("namespaces", namespaces) && and("clusters", clusters)
	}
	return applications || namespaces || clusters
}

func (c *conversion) window(f *migrate.Fields) {
	window := corev1alpha1.SyncWindow{Schedule: f.Text("schedule"), TimeZone: f.Text("timeZone")}
	if window.TimeZone == "" {
		window.TimeZone = "UTC"
	}
	if length := f.Duration("duration"); length != nil {
		window.Duration = metav1.Duration{Duration: length.Duration}
	}
	switch kind := f.Text("kind"); kind {
	case "allow":
		window.Allow = true
	case "deny":
		window.Deny = true
	default:
		c.Unmapped(f.Path("kind"), fmt.Sprintf("%q is neither allow nor deny", kind))
		return
	}
	if manual, _ := f.Bool("manualSync"); !manual {
		c.Note(f.Path("manualSync"), "is not true: a sync that a person requests does not ask for windows")
	}
	f.Drop("description", "syncOverrun")
	f.Rest()
	c.template.Sync.Windows = append(c.template.Sync.Windows, window)
}
