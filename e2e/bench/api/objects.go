// SPDX-License-Identifier: Apache-2.0

package api

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// Namespaces of the objects: those that stay, and those that come and go.
const (
	namespace        = "bench"
	createdNamespace = "bench-created"
)

//go:embed release.yaml
var releaseTemplate string

// objectName names the n-th object.
func objectName(n int) string { return fmt.Sprintf("release-%05d", n) }

// fill reads a part of the template with what differs from object to object.
func fill(part, name string, n int) (map[string]any, error) {
	digest := sha256.Sum256([]byte(name))
	text := strings.NewReplacer("NAME", name, "NUMBER", strconv.Itoa(n), "DIGEST", hex.EncodeToString(digest[:])).Replace(releaseTemplate)
	var parts map[string]map[string]any
	if err := yaml.Unmarshal([]byte(text), &parts); err != nil {
		return nil, fmt.Errorf("read the template of a Release: %w", err)
	}
	return parts[part], nil
}

// release is the n-th object of a group, without status, as JSON.
func release(group, name string, n int) ([]byte, error) {
	object, err := fill("spec", name, n)
	if err != nil {
		return nil, err
	}
	object["apiVersion"] = group + "/" + version
	return json.Marshal(object)
}

// waved is release with a wave: the field that the benchmarks change.
func waved(group, name string, n, wave int) ([]byte, error) {
	object, err := fill("spec", name, n)
	if err != nil {
		return nil, err
	}
	object["apiVersion"] = group + "/" + version
	object["spec"].(map[string]any)["wave"] = wave
	return json.Marshal(object)
}

// status is a merge patch that gives the object its status.
func status(name string, n int) ([]byte, error) {
	object, err := fill("status", name, n)
	if err != nil {
		return nil, err
	}
	return json.Marshal(object)
}
