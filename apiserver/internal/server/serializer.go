// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// noProtobuf hides protobuf from clients. The types have no protobuf form, and a client that
// is offered it, as the host's namespace controller is, would fail on every request: no
// namespace could be deleted any more.
type noProtobuf struct {
	runtime.NegotiatedSerializer
}

// SupportedMediaTypes are those of the wrapped serializer without protobuf.
func (n noProtobuf) SupportedMediaTypes() []runtime.SerializerInfo {
	offered := slices.Clone(n.NegotiatedSerializer.SupportedMediaTypes())
	return slices.DeleteFunc(offered, func(info runtime.SerializerInfo) bool {
		return info.MediaType == runtime.ContentTypeProtobuf
	})
}
