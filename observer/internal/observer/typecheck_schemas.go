// SPDX-License-Identifier: Apache-2.0

package observer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	restclient "k8s.io/client-go/rest"

	"kumodo.io/convoy/health"
	"kumodo.io/convoy/health/openapi"
)

const (
	// typeCheckTimeout bounds what one check asks of a target.
	typeCheckTimeout = time.Minute
	// schemaLimit is the most that is read of one answer. Those of Kubernetes have some 2 MiB.
	schemaLimit = 16 << 20
)

// errTooLarge says that a server publishes more than is read.
var errTooLarge = errors.New("more than 16 MiB are published")

// makeTypeCheck holds rules against the schemas of a cluster, which are read with the cluster's
// own identity, and tells what it found. Errors are those of reading.
func (c *HealthController) makeTypeCheck(ctx context.Context, check *typeCheck) error {
	ctx, cancel := context.WithTimeout(ctx, 2*typeCheckTimeout)
	defer cancel()
	asking, cancel := context.WithTimeout(ctx, typeCheckTimeout) // what is found takes its time to be told, too
	defer cancel()
	known := &c.Rules.types
	found := map[types.UID]map[schemaKey]verdict{}
	reader, err := c.readSchemas(asking, check)
	if err != nil {
		known.miss(check, c.Clock.Now())
		return err
	}
	kinds := slices.SortedFunc(maps.Keys(check.sets), func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.String(), b.String()) })
	for _, kind := range kinds {
		for uid, source := range check.sets[kind] {
			verdicts, oneErr := c.verdicts(asking, reader, kind, source)
			if oneErr != nil {
				err = errors.Join(err, oneErr)
				continue
			}
			if found[uid] == nil {
				found[uid] = map[schemaKey]verdict{}
			}
			maps.Copy(found[uid], verdicts)
		}
	}
	known.learn(check, &published{groups: reader.groups, hashes: reader.hashes}, found, err != nil, c.Clock.Now())
	for _, source := range check.sources() {
		err = errors.Join(err, c.tellTypes(ctx, source))
	}
	return err
}

// verdicts are what is found of a rule set with the schema of a kind, and where it finds something
// with those of its other versions: a rule for all versions may read what any has.
func (c *HealthController) verdicts(ctx context.Context, reader *schemaReader, kind schema.GroupVersionKind, source ruleSource) (map[schemaKey]verdict, error) {
	first, err := c.verdict(ctx, reader, kind, source)
	verdicts := map[schemaKey]verdict{reader.key(kind): first}
	if err != nil || len(first.findings) == 0 {
		return verdicts, err
	}
	for gv := range reader.hashes {
		if gv.Group != kind.Group || gv.Version == kind.Version {
			continue
		}
		other := gv.WithKind(kind.Kind)
		if verdicts[reader.key(other)], err = c.verdict(ctx, reader, other, source); err != nil {
			return nil, err
		}
	}
	return verdicts, nil
}

// verdict is what is found with one schema, which is not read when it is known.
func (c *HealthController) verdict(ctx context.Context, reader *schemaReader, kind schema.GroupVersionKind, source ruleSource) (verdict, error) {
	if _, published := reader.hashes[kind.GroupVersion()]; !published {
		return verdict{}, nil
	}
	if known, ok := c.Rules.types.verdict(source, reader.key(kind)); ok {
		return known, nil
	}
	of, err := reader.schema(ctx, kind)
	if err != nil || of == nil {
		return verdict{}, err
	}
	findings, err := health.CheckTypes(source.rules, kind, of)
	return verdict{known: true, findings: findings}, err
}

// schemaReader reads what one cluster publishes. It holds one document at a time.
type schemaReader struct {
	// decoding is held by the one of all that decodes: that takes many times the memory of the text.
	decoding  *sync.Mutex
	client    restclient.Interface
	namespace string // of the Cluster
	groups    map[string]bool
	hashes    map[schema.GroupVersion]string

	of       schema.GroupVersion
	document *openapi.Document
}

// key is the schema of a kind as the cluster publishes it.
func (r *schemaReader) key(kind schema.GroupVersionKind) schemaKey {
	return schemaKey{namespace: r.namespace, kind: kind, hash: r.hashes[kind.GroupVersion()]}
}

// readSchemas reads which schemas a cluster publishes.
func (c *HealthController) readSchemas(ctx context.Context, check *typeCheck) (*schemaReader, error) {
	connection, err := c.Connector.Connect(ctx, check.cluster)
	if err != nil {
		return nil, err
	}
	reader := &schemaReader{
		decoding: &c.Rules.types.decoding, client: connection.REST(), namespace: check.key.cluster.Namespace,
		groups: c.Rules.types.groups(check), hashes: map[schema.GroupVersion]string{},
	}
	data, err := reader.read(ctx, "", "")
	if err != nil {
		return nil, fmt.Errorf("schemas of cluster %s: %w", check.cluster.Name, err)
	}
	var index struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, fmt.Errorf("schemas of cluster %s: %w", check.cluster.Name, err)
	}
	for path, at := range index.Paths {
		gv, ok := groupVersionOf(path)
		published, err := url.Parse(at.ServerRelativeURL)
		if !ok || err != nil || !reader.groups[gv.Group] {
			continue
		}
		// Without one it could not be told when there is another schema.
		if hash := published.Query().Get("hash"); hash != "" {
			reader.hashes[gv] = hash
		}
	}
	return reader, nil
}

// read gives the document of a group version, or with an empty path the list of them. The hash
// lets caches on the way answer.
func (r *schemaReader) read(ctx context.Context, path, hash string) ([]byte, error) {
	request := r.client.Get().AbsPath("/openapi/v3", path)
	if path != "" {
		request = request.Param("hash", hash)
	}
	body, err := request.SetHeader("Accept", "application/json").Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(io.LimitReader(body, schemaLimit+1))
	if err == nil && len(data) > schemaLimit {
		err = errTooLarge
	}
	return data, err
}

// schema gives the schema of a kind, nil when the cluster publishes none.
func (r *schemaReader) schema(ctx context.Context, kind schema.GroupVersionKind) (*openapi.Schema, error) {
	gv := kind.GroupVersion()
	var data []byte
	if r.document == nil || r.of != gv {
		var err error
		if data, err = r.read(ctx, pathOf(gv), r.hashes[gv]); err != nil {
			return nil, fmt.Errorf("schemas of %s: %w", gv, err)
		}
	}
	r.decoding.Lock()
	defer r.decoding.Unlock()
	if data != nil {
		document, err := openapi.ParseDocument(data)
		if err != nil {
			return nil, fmt.Errorf("schemas of %s: %w", gv, err)
		}
		r.of, r.document = gv, document
	}
	return r.document.Schema(kind), nil
}

// pathOf is where a group version is published, below /openapi/v3.
func pathOf(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.Group + "/" + gv.Version
}

// groupVersionOf is the group version of a path; false for what is none.
func groupVersionOf(path string) (schema.GroupVersion, bool) {
	for _, prefix := range []string{"apis/", "api/"} {
		if len(path) > len(prefix) && path[:len(prefix)] == prefix {
			gv, err := schema.ParseGroupVersion(path[len(prefix):])
			return gv, err == nil && gv.Version != "" && pathOf(gv) == path
		}
	}
	return schema.GroupVersion{}, false
}
