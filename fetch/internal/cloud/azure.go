// SPDX-License-Identifier: Apache-2.0

//go:build !convoy_without_acr

package cloud

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"kumodo.io/convoy/fetch/internal/access"
	"kumodo.io/convoy/fetch/internal/fault"
)

const (
	// azureScope is the same in all of Azure's clouds.
	azureScope = "https://containerregistry.azure.net/.default"
	// azureAnswer bounds the answer of a registry.
	azureAnswer = 1 << 20
)

// logIntoAzure takes a token of the default credential to the registry, which gives one of
// its own for it.
func logIntoAzure(ctx context.Context, host string, client *http.Client) (Credential, time.Time, error) {
	identity, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return Credential{}, time.Time{}, explainAzure(ctx, err)
	}
	token, err := identity.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{azureScope}})
	if err != nil {
		return Credential{}, time.Time{}, explainAzure(ctx, err)
	}
	refresh, err := exchange(ctx, host, token.Token, client)
	if err != nil {
		return Credential{}, time.Time{}, err
	}
	until := endOf(refresh)
	if until.IsZero() {
		until = token.ExpiresOn
	}
	return Credential{RefreshToken: refresh}, until, nil
}

// exchange gives the registry an access token for a refresh token.
func exchange(ctx context.Context, host, token string, client *http.Client) (string, error) {
	form := url.Values{"grant_type": {"access_token"}, "service": {host}, "access_token": {token}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+host+"/oauth2/exchange", strings.NewReader(form.Encode()))
	if err != nil {
		return "", fault.New(fault.ErrInvalid, "the url is unusable")
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	// A redirect would take the token elsewhere.
	direct := *client
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := direct.Do(request)
	if err != nil {
		return "", fault.FromRequest(err, fault.NewScrubber(token))
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return "", refused("the registry in Azure", statusAnd(response.StatusCode, ""), "give it the role AcrPull, or one that may read repositories, on the registry")
	default:
		return "", fault.FromStatus(response.StatusCode, "exchanging a token of Azure for one of the registry", fault.SomeCredentials)
	}
	body, err := access.ReadAll(response.Body, response.ContentLength, azureAnswer, "the answer of the registry")
	if err != nil {
		return "", fault.FromRequest(err, fault.NewScrubber(token))
	}
	var answer struct {
		RefreshToken string `json:"refresh_token"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.RefreshToken == "" {
		return "", fault.New(fault.ErrUnreachable, "the registry gave no token for one of Azure")
	}
	return answer.RefreshToken, nil
}

// endOf reads when a JSON Web Token ends, see RFC 7519; zero when that is not written there.
// Whether it is true is the registry's concern.
func endOf(token string) time.Time {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Exp int64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(data, &claims) != nil || claims.Exp <= 0 {
		return time.Time{}
	}
	return time.Unix(claims.Exp, 0)
}

// explainAzure gives the status of an answer. The text of such an error holds whole answers.
func explainAzure(ctx context.Context, err error) error {
	var answered *azidentity.AuthenticationFailedError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &answered) && answered.RawResponse != nil && answered.RawResponse.StatusCode < http.StatusInternalServerError:
		return refused("Azure", statusAnd(answered.RawResponse.StatusCode, ""), "look at its managed or workload identity")
	case errors.As(err, &answered) && answered.RawResponse != nil:
		return noIdentity("Azure", statusAnd(answered.RawResponse.StatusCode, ""))
	}
	return noIdentity("Azure", err.Error())
}
