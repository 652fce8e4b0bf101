// SPDX-License-Identifier: Apache-2.0

//go:build !convoy_without_gar

package cloud

import (
	"context"
	"errors"
	"net/http"
	"time"

	"cloud.google.com/go/compute/metadata"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

const (
	googleUser  = "oauth2accesstoken"
	googleScope = "https://www.googleapis.com/auth/cloud-platform"
	// googlePatience ends a request for a token, which may outlive the context of who asked.
	googlePatience = 30 * time.Second
)

// logIntoGoogle takes a token of the default credentials.
func logIntoGoogle(ctx context.Context, _ string, _ *http.Client) (Credential, time.Time, error) {
	type result struct {
		token *oauth2.Token
		err   error
	}
	done := make(chan result, 1)
	// Asking for a token takes no context, so it may not keep the caller.
	asking := context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, &http.Client{Timeout: googlePatience})
	go func() {
		var r result
		credentials, err := google.FindDefaultCredentials(asking, googleScope)
		if r.err = err; err == nil {
			r.token, r.err = credentials.TokenSource.Token()
		}
		done <- r
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return Credential{}, time.Time{}, explainGoogle(r.err)
		}
		return Credential{Username: googleUser, Password: r.token.AccessToken}, r.token.Expiry, nil
	case <-ctx.Done():
		return Credential{}, time.Time{}, ctx.Err()
	}
}

// explainGoogle gives the code of the token service. The text of its errors holds whole
// answers.
func explainGoogle(err error) error {
	const wayOut = "look at its service account, and at the bindings of Workload Identity"
	var answered *oauth2.RetrieveError
	var absent *metadata.Error
	switch {
	case errors.As(err, &answered) && answered.Response != nil && answered.Response.StatusCode < http.StatusInternalServerError:
		return refused("Google Cloud", statusAnd(answered.Response.StatusCode, answered.ErrorCode), wayOut)
	case errors.As(err, &answered) && answered.Response != nil:
		return noIdentity("Google Cloud", statusAnd(answered.Response.StatusCode, ""))
	case errors.As(err, &absent) && absent.Code < http.StatusInternalServerError:
		return refused("Google Cloud", "the metadata service answered with "+statusAnd(absent.Code, ""), wayOut)
	case errors.As(err, &absent):
		return noIdentity("Google Cloud", "the metadata service answered with "+statusAnd(absent.Code, ""))
	}
	return noIdentity("Google Cloud", err.Error())
}
