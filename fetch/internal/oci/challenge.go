// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"net/http"
	"slices"
	"strings"
)

// challenged puts a challenge that can be met before the others: of several, the library
// sees the first only.
type challenged struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (c challenged) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	const header = "Www-Authenticate"
	challenges := response.Header[header]
	if first := slices.IndexFunc(challenges, canBeMet); first > 0 {
		response.Header[header] = challenges[first : first+1]
	}
	return response, nil
}

func canBeMet(challenge string) bool {
	scheme, _, _ := strings.Cut(strings.TrimSpace(challenge), " ")
	return strings.EqualFold(scheme, "Basic") || strings.EqualFold(scheme, "Bearer")
}
