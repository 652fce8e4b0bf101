// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// request is what convoy-controller-manager asked of the target about a case's objects.
type request struct {
	Verb, UserAgent, RequestURI string
	ObjectRef                   struct{ Resource, Subresource, Namespace, Name string }
	ResponseStatus              struct{ Code int }
	RequestReceivedTimestamp    time.Time
	StageTimestamp              time.Time
}

func (r request) String() string {
	return fmt.Sprintf("%s %s/%s", r.Verb, r.ObjectRef.Resource, r.ObjectRef.Name)
}

func (r request) writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb) &&
		!strings.Contains(r.RequestURI, "dryRun=All")
}

// moment is a point of the target's audit log.
type moment int64

// now gives the present end of the audit log: all that was answered before is in front of it.
func (c *scene) now(ctx context.Context) moment {
	c.flushAudit(ctx)
	info, err := os.Stat(c.auditLog())
	c.Expect(err).NotTo(HaveOccurred())
	return moment(info.Size())
}

func (c *scene) auditLog() string { return c.path("target", "audit.log") }

// flushAudit returns when everything that was answered is in the log: a request that is made
// now is.
func (c *scene) flushAudit(ctx context.Context) {
	c.flushes++
	marker := fmt.Sprintf("%s-marker-%d", c.ns, c.flushes)
	_, _ = c.targetKube.CoreV1().ConfigMaps(c.ns).Get(ctx, marker, metav1.GetOptions{})
	c.Eventually(ctx, func() (bool, error) {
		data, err := os.ReadFile(c.auditLog())
		return bytes.Contains(data, []byte(marker)), err
	}).Should(BeTrue())
}

// requests gives what convoy-controller-manager asked about objects of the scene since a
// moment, in the order in which it was asked.
func (c *scene) requests(ctx context.Context, since moment) []request {
	c.flushAudit(ctx)
	file, err := os.Open(c.auditLog())
	c.Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	_, err = file.Seek(int64(since), io.SeekStart)
	c.Expect(err).NotTo(HaveOccurred())
	data, err := io.ReadAll(file)
	c.Expect(err).NotTo(HaveOccurred())
	var found []request
	for line := range bytes.Lines(data) {
		if !bytes.Contains(line, []byte(c.ns)) {
			continue
		}
		var r request
		if json.Unmarshal(line, &r) == nil && strings.HasPrefix(r.UserAgent, "convoy-controller-manager/") {
			found = append(found, r)
		}
	}
	slices.SortStableFunc(found, func(a, b request) int { return a.RequestReceivedTimestamp.Compare(b.RequestReceivedTimestamp) })
	return found
}

// writes gives the writes among requests, dry runs left out, as "patch configmaps/a".
func (c *scene) writes(ctx context.Context, since moment) []string {
	texts := []string{}
	for _, r := range c.requests(ctx, since) {
		if r.writes() {
			texts = append(texts, r.String())
		}
	}
	return texts
}

// deletions gives the deletions among writes.
func (c *scene) deletions(ctx context.Context, since moment) []string {
	return slices.DeleteFunc(c.writes(ctx, since), func(text string) bool { return !strings.HasPrefix(text, "delete") })
}

// inOrder matches a list of texts in which the wanted ones come in this order, whatever else
// is there; of equal ones the first counts.
func inOrder(wanted ...string) types.GomegaMatcher {
	return WithTransform(func(list []string) []string {
		var found []string
		for _, text := range list {
			if slices.Contains(wanted, text) && !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
		return found
	}, Equal(wanted))
}
