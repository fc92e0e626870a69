// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
// Says that the weights of the model are stored quantized already, on every page that shows errors. Once closed, it stays
// away until another model is opened.

#include "app/gui/widgets/banner.h"

namespace qs::gui {

class Session;

class SourceBanner : public Banner {
    Q_OBJECT
public:
    explicit SourceBanner(Session& session, QWidget* parent = nullptr);
    void setWanted(bool wanted); ///< true: the page in front is about the weights

private:
    void follow();
    Session& session_;
    bool wanted_ = true, wasClosed_ = false;
};

} // namespace qs::gui
