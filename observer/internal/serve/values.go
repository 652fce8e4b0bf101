// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	"kumodo.io/convoy/observer/internal/compare"
	"kumodo.io/convoy/render"
)

// values tells what the chart is rendered with, and which source set each value.
func (s *Server) values(ctx context.Context, release *corev1alpha1.Release, q query) (reply, error) {
	target, err := s.Host.Connect(ctx, release)
	if err != nil {
		return nil, err
	}
	found, err := s.Values.Values(ctx, release, target, q["revision"])
	if err != nil {
		return nil, err
	}
	merged := map[string]any{}
	answer := &corev1alpha1.ReleaseValues{Revision: found.Revision, Origins: []corev1alpha1.ValueOrigin{}}
	for _, value := range found.Values {
		put(merged, corev1alpha1.SplitValuePath(value.Path), shownValue(value))
		answer.Origins = append(answer.Origins, corev1alpha1.ValueOrigin{
			Path: value.Path, Kind: corev1alpha1.ValueOriginKind(value.Origin.Kind), Name: value.Origin.Name, Key: value.Origin.Key,
		})
	}
	raw, err := json.Marshal(merged)
	if err != nil {
		return nil, err
	}
	answer.Values = runtime.RawExtension{Raw: raw}
	return answer, nil
}

func shownValue(value render.Value) any {
	if value.Secret {
		return compare.Masked
	}
	return value.Value
}

// put sets the value at a path of keys.
func put(into map[string]any, path []string, value any) {
	for _, key := range path[:len(path)-1] {
		inner, ok := into[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			into[key] = inner
		}
		into = inner
	}
	into[path[len(path)-1]] = value
}
