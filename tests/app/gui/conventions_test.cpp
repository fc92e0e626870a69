// SPDX-License-Identifier: GPL-3.0-or-later
// A checkpoint quantized by bitsandbytes in the window: the tree shows layers with their type, and the pages measure
// them like any tensor.
#include "app/gui/page.h"
#include "app/gui/pages/tensor/tensor_page_cards.h"
#include "app/gui/pages/tensor/tensor_page_header.h"
#include "app/gui/theme.h"
#include "app/gui/widgets/tensor_tree.h"
#include "opened_session.h"
#include "tests/support/test_program.h"

#include <cmath>

using namespace qs;
using namespace qs::gui;

class TestConventions : public QObject {
    Q_OBJECT

    std::unique_ptr<Session> session_;

private Q_SLOTS:
    void initTestCase() {
        Theme::install(Theme::Mode::Dark);
        session_ = std::make_unique<Session>();
        QVERIFY(openModel(*session_, QStringLiteral(QS_TEST_DATA "/conventions/bnb_4bit")));
    }

    void treeShowsLayersAndTheirParts() {
        QCOMPARE(session_->model()->tensors.size(), std::size_t(6));
        QCOMPARE(session_->weights().size(), std::size_t(5));
        QStringList tips;
        TensorTree tree(*session_);
        tree.followModel();
        for (const auto& tensor : session_->model()->tensors)
            tips << tree.indexOf(&tensor).data(Qt::ToolTipRole).toString();
        const QString all = tips.join(u'\n');
        for (const char* part : {"bnb-nf4 24 × 192", "bitsandbytes nf4, blocks of 64; values in F32",
                                 "model.layers.0.self_attn.k_proj.weight.absmax   F32 72",
                                 "bitsandbytes fp4, blocks of 64, double quantization; values in BF16"})
            QVERIFY2(all.contains(QString::fromUtf8(part)), qPrintable(all));
    }

    void tensorPageMeasuresALayer() {
        std::unique_ptr<QWidget> page(createTensorPage(*session_, nullptr));
        page->resize(1056, 802);
        page->show();
        session_->setSpec(*parseSpec("int4"));
        session_->selectTensor(session_->model()->find("model.layers.0.self_attn.v_proj.weight"));
        QVERIFY(tensorMeasured(*session_));
        QTRY_VERIFY(session_->current() && session_->current()->tensor == "model.layers.0.self_attn.v_proj.weight");
        QCOMPARE(session_->current()->status, Status::Ok);
        const auto* density = page->findChild<DensityCard*>();
        QTRY_VERIFY(density->isVisible() && density->chart()->series().size() == 1);
        const auto& points = density->chart()->series()[0].points;
        double mass = 0;
        for (const QPointF& point : points) mass += point.y() * (points[1].x() - points[0].x());
        QVERIFY2(std::abs(mass - 1) < 1e-9, qPrintable(QString::number(mass, 'g', 12)));
        auto* header = page->findChild<TensorHeader*>();
        QVERIFY(header);
        QTRY_VERIFY(header->accessibleName().contains(QStringLiteral("bnb-nf4  64 × 128")));
        QTRY_VERIFY(header->accessibleName().contains(QStringLiteral("5.29 KiB →")));
    }

    void everyLayerIsMeasured() {
        const auto spec = *parseSpec("nf4");
        session_->setSpec(spec);
        QVERIFY(everythingMeasured(*session_, spec));
        const auto rows = session_->modelRows(spec);
        for (std::size_t i = 0; i < session_->weights().size(); ++i) QCOMPARE(rows.at(i)->status, Status::Ok);
    }
};

QS_TEST(TestConventions)
#include "conventions_test.moc"
